#pragma once
// The words that a byte-pair encoding is learned from, and the merging of a pair in them: it becomes one
// token wherever it stands, and its neighbours are recorded.

#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "tokenizer/encode/vocabulary.hpp"
#include "tokenizer/train/word_counts.hpp"

namespace dt::tokenizer {

/// Two neighbouring tokens.
struct TokenPair {
  Id left, right;
  auto operator<=>(const TokenPair&) const = default;
};

/// A position in the words: that of a token's first byte.
using Position = std::uint32_t;

/// Distinct words as the tokens that they consist of, while merges are learned. All words stand in a row,
/// with a position for each byte. A token stands at its first byte and at its last, so that both neighbours
/// of a token are found at once. Words of equal counts lie together, the most frequent first.
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

/// The tokens on one side of a pair's positions.
class NeighbourTallies {
 public:
  struct Tally {
    std::int64_t count = 0;
    std::uint32_t num_places = 0;
  };
  explicit NeighbourTallies(Id vocabulary_size) : tallies_(vocabulary_size) {}
  void add(Id id, Position at, std::uint64_t count) {
    Tally& tally = tallies_[id];
    if (tally.num_places++ == 0) ids_.push_back(id);
    tally.count += static_cast<std::int64_t>(count);
    places_.push_back({id, at});
  }
  /// Adds another's tallies, without its places.
  void add_tallies(const NeighbourTallies& other);
  void clear();

  /// Returns the neighbours, in no order.
  const std::vector<Id>& ids() const { return ids_; }
  /// Returns the tally of any token.
  const Tally& tally(Id id) const { return tallies_[id]; }
  struct Place {
    Id id;
    Position at;
  };
  /// Returns the places in the order in which they were added.
  const std::vector<Place>& places() const { return places_; }

 private:
  std::vector<Tally> tallies_;
  std::vector<Id> ids_;
  std::vector<Place> places_;
};

/// The neighbours on both sides of a pair. A place is the position of the pair of neighbour and new
/// token: on the left the neighbour's position, on the right the new token's.
struct MergeSides {
  explicit MergeSides(Id vocabulary_size) : left(vocabulary_size), right(vocabulary_size) {}
  void clear() {
    left.clear();
    right.clear();
  }
  NeighbourTallies left, right;
};

/// Replaces `pair` by `merged` at those of `positions` where it still stands. `positions` ascend;
/// `num_bytes` are by token.
/// The second of two adjoining occurrences has the merged token as its left neighbour. The first has
/// as its right neighbour the token that stood there before the second merged.
void merge_pair(TrainingWords& words, const std::vector<std::uint32_t>& num_bytes, TokenPair pair, Id merged,
                std::span<const Position> positions, MergeSides& sides);

/// Divides ascending positions into up to `max_parts` parts that threads may merge at once. Each word's
/// positions are in one part.
std::vector<std::span<const Position>> divide_by_words(const TrainingWords& words,
                                                       std::span<const Position> positions,
                                                       std::size_t max_parts);

}  // namespace dt::tokenizer
