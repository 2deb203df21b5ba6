#pragma once
// Counts the words of much text. A vocabulary is learned from the counts.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "tokenizer/encode/pre_tokenizer.hpp"

namespace dt::tokenizer {

struct CountedWord {
  std::string_view bytes;
  std::uint64_t count;
};

/// A hash table of words. Their bytes lie one after another.
class WordTable {
 public:
  /// Adds `count` to a word's count. `digest` is the word's dt::digest().
  void add(std::string_view word, std::uint64_t digest, std::uint64_t count);
  std::size_t size() const { return size_; }
  std::size_t text_bytes() const { return text_.size(); }
  /// Appends the table's words, which are valid until the table changes.
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

/// Counts words on one thread. A small table holds recent words, and its counts go to the shared tables
/// now and then.
class WordCounter final : private PieceSink {
 public:
  WordCounter(const PreTokenizer& pre_tokenizer, WordCounts& counts)
      : pre_tokenizer_(pre_tokenizer), counts_(counts) {}
  /// Splits `text` and counts its words.
  /// Errors: as Regex.
  void count(std::string_view text);
  /// Moves the small table's counts to the shared tables.
  void merge_counts();

 private:
  void take(std::span<const std::string_view> pieces) override;
  const PreTokenizer& pre_tokenizer_;
  WordCounts& counts_;
  WordTable table_;
};

/// The counts of all threads. They take about 70 bytes for each distinct word beside its own bytes, and
/// 4 MiB for each thread.
class WordCounts {
 public:
  /// Returns a new counter for a thread. The counter lives as long as this object.
  /// Thread safety: several threads may call this at once.
  WordCounter& counter(const PreTokenizer& pre_tokenizer);
  void add(const WordTable& words);
  /// Returns all words, in no order. They are valid as long as nothing is counted. No counter may be at
  /// work.
  std::vector<CountedWord> words();

 private:
  /// The words are divided by their digests, so that threads seldom wait for each other.
  struct Shard {
    std::mutex mutex;
    WordTable table;
  };
  std::array<Shard, 64> shards_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<WordCounter>> counters_;
};

}  // namespace dt::tokenizer
