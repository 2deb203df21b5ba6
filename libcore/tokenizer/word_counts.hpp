#pragma once
// The words of much text and how often each is there: what a vocabulary is learned from.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "tokenizer/pre_tokenizer.hpp"

namespace dt::tokenizer {

struct CountedWord {
  std::string_view bytes;
  std::uint64_t count;
};

/// A hash table with the words' bytes one after another.
class WordTable {
 public:
  /// `digest` is the word's: dt::digest.
  void add(std::string_view word, std::uint64_t digest, std::uint64_t count);
  std::size_t size() const { return size_; }
  std::size_t text_bytes() const { return text_.size(); }
  /// Appends its words, which are valid until the table changes.
  void append_to(std::vector<CountedWord>& words) const;
  void clear();

 private:
  struct Slot {
    std::uint64_t count = 0;  // 0: empty
    std::uint64_t begin = 0;
    std::uint32_t size = 0;
    std::uint32_t hash = 0;
  };
  std::string_view word(const Slot& slot) const { return {text_.data() + slot.begin, slot.size}; }
  void grow();
  std::vector<Slot> slots_ = std::vector<Slot>(1024);  // a power of two, at most half full
  std::vector<char> text_;
  std::size_t size_ = 0;
};

class WordCounts;

/// Counts on one thread: what it has met lately in a small table, and now and then all of that in the shared
/// ones.
class WordCounter final : private PieceSink {
 public:
  WordCounter(const PreTokenizer& pre_tokenizer, WordCounts& counts)
      : pre_tokenizer_(pre_tokenizer), counts_(counts) {}
  /// Errors: input (see Regex).
  void count(std::string_view text);
  void hand_on();

 private:
  void take(std::span<const std::string_view> pieces) override;
  const PreTokenizer& pre_tokenizer_;
  WordCounts& counts_;
  WordTable table_;
};

/// Counts of all threads. Takes about 70 bytes for each distinct word beside the word's own, and 4 MiB a
/// thread.
class WordCounts {
 public:
  /// A thread's counter, which lives as long as this. Safe to call from several threads at once.
  WordCounter& counter(const PreTokenizer& pre_tokenizer);
  void add(const WordTable& words);
  /// All words, in no order, valid as long as nothing is counted. No counter may be at work.
  std::vector<CountedWord> words();

 private:
  /// Divided by digests, so that threads seldom wait for each other.
  struct Part {
    std::mutex mutex;
    WordTable table;
  };
  std::array<Part, 64> parts_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<WordCounter>> counters_;
};

}  // namespace dt::tokenizer
