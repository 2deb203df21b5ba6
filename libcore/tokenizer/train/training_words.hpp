#pragma once
// Distinct words as the tokens that they consist of, while merges are learned.

#include <array>
#include <cstdint>
#include <vector>

#include "tokenizer/encode/vocabulary.hpp"
#include "tokenizer/train/word_counts.hpp"

namespace dt::tokenizer {

/// A position in the words: that of a token's first byte.
using Position = std::uint32_t;

/// All words in a row, with a position for each byte. A token stands at its first byte and at its last,
/// so that both neighbours of a token are found at once. Words of equal counts lie together, the most
/// frequent first.
class TrainingWords {
 public:
  static constexpr Id inside = no_id - 1;  // a byte of a token, neither its first nor its last
  static constexpr Id border = no_id;      // between words
  /// Creates the words with every byte as its token in `byte_ids`.
  /// Errors: input if the words have 4 GiB or more.
  TrainingWords(std::vector<CountedWord> words, const std::array<Id, 256>& byte_ids);

  /// Returns the number of positions. The first and the last are borders.
  Position size() const { return static_cast<Position>(symbols_.size()); }
  Id operator[](Position at) const { return symbols_[at]; }
  /// Merges the tokens of `left_bytes` and `right_bytes` at `at` into one.
  void merge(Position at, std::uint32_t left_bytes, std::uint32_t right_bytes, Id merged) {
    const Position right = at + left_bytes;
    symbols_[right - 1] = inside;
    symbols_[right] = inside;
    symbols_[at] = merged;
    symbols_[right + right_bytes - 1] = merged;
  }

 private:
  /// Words that all have the count `count`. Their positions are below `end`, and not below the end of
  /// the run before.
  struct EqualCounts {
    Position end;
    std::uint64_t count;
  };
  std::vector<Id> symbols_;
  std::vector<EqualCounts> runs_;

 public:
  /// Looks up the counts of words, for positions that ascend.
  class Counts {
   public:
    explicit Counts(const TrainingWords& words) : runs_(words.runs_) {}
    std::uint64_t at(Position position) {
      if (position >= runs_[run_].end) find(position);
      return runs_[run_].count;
    }

   private:
    void find(Position position);
    const std::vector<EqualCounts>& runs_;
    std::size_t run_ = 0;
  };
};

}  // namespace dt::tokenizer
