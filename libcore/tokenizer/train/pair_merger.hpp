#pragma once
// Merges a pair into one token wherever it stands, and records its neighbours.

#include <cstdint>
#include <span>
#include <vector>

#include "tokenizer/train/pair_index.hpp"

namespace dt::tokenizer {

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
