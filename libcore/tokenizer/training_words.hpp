#pragma once
// Distinct words as the tokens that they are so far, while merges are learned.

#include <array>
#include <cstdint>
#include <vector>

#include "tokenizer/vocabulary.hpp"
#include "tokenizer/word_counts.hpp"

namespace dt::tokenizer {

/// A place in the words: of the byte that a token begins with.
using Position = std::uint32_t;

/// All words in a row, a place for each byte: a token stands at its first byte and at its last, so that both
/// neighbours of a token are found at once. Words of equal counts lie together, the most frequent first.
class TrainingWords {
 public:
  static constexpr Id inside = no_id - 1;  // of a token, neither its first byte nor its last
  static constexpr Id border = no_id;      // between words
  /// Every byte is its token of `byte_ids`. Errors: input, words of 4 GiB or more.
  TrainingWords(std::vector<CountedWord> words, const std::array<Id, 256>& byte_ids);

  /// The first and the last place are borders.
  Position size() const { return static_cast<Position>(symbols_.size()); }
  Id operator[](Position at) const { return symbols_[at]; }
  /// Tokens of `left_bytes` and `right_bytes` at `at` become one.
  void merge(Position at, std::uint32_t left_bytes, std::uint32_t right_bytes, Id merged) {
    const Position right = at + left_bytes;
    symbols_[right - 1] = inside;
    symbols_[right] = inside;
    symbols_[at] = merged;
    symbols_[right + right_bytes - 1] = merged;
  }

 private:
  /// Positions below `end`, and not below the run's before, are of words that are there `count` times.
  struct Run {
    Position end;
    std::uint64_t count;
  };
  std::vector<Id> symbols_;
  std::vector<Run> runs_;

 public:
  /// How often words are there, asked for positions that ascend.
  class Counts {
   public:
    explicit Counts(const TrainingWords& words) : runs_(words.runs_) {}
    std::uint64_t at(Position position) {
      if (position >= runs_[run_].end) find(position);
      return runs_[run_].count;
    }

   private:
    void find(Position position);
    const std::vector<Run>& runs_;
    std::size_t run_ = 0;
  };
};

}  // namespace dt::tokenizer
