#pragma once
// Makes one token of a pair, wherever it stands, and says what stood beside it.

#include <cstdint>
#include <span>
#include <vector>

#include "tokenizer/pair_index.hpp"

namespace dt::tokenizer {

/// The tokens on one side of a pair's places.
class Neighbours {
 public:
  struct Tally {
    std::int64_t count = 0;
    std::uint32_t num_places = 0;
  };
  explicit Neighbours(Id vocabulary_size) : tallies_(vocabulary_size) {}
  void add(Id id, Position at, std::uint64_t count) {
    Tally& tally = tallies_[id];
    if (tally.num_places++ == 0) ids_.push_back(id);
    tally.count += static_cast<std::int64_t>(count);
    places_.push_back({id, at});
  }
  /// Adds all of another's but its places.
  void add_tallies(const Neighbours& other);
  void clear();

  /// The neighbours, in no order.
  const std::vector<Id>& ids() const { return ids_; }
  /// Of any token.
  const Tally& tally(Id id) const { return tallies_[id]; }
  struct Place {
    Id id;
    Position at;
  };
  /// As they were added.
  const std::vector<Place>& places() const { return places_; }

 private:
  std::vector<Tally> tallies_;
  std::vector<Id> ids_;
  std::vector<Place> places_;
};

/// A place is that of the pair of a neighbour and the new token: the neighbour's on the left, else the
/// token's.
struct Sides {
  explicit Sides(Id vocabulary_size) : left(vocabulary_size), right(vocabulary_size) {}
  void clear() {
    left.clear();
    right.clear();
  }
  Neighbours left, right;
};

/// `pair` becomes `merged` at those of `positions` where it stands; they ascend. `num_bytes` are the tokens'.
/// Where a place follows another, its left neighbour is what that became and the other's right neighbour what
/// it was.
void merge_pair(TrainingWords& words, const std::vector<std::uint32_t>& num_bytes, TokenPair pair, Id merged,
                std::span<const Position> positions, Sides& sides);

/// Positions that ascend, in up to `max_parts` parts that threads may merge at once: a word's are in one.
std::vector<std::span<const Position>> divide_by_words(const TrainingWords& words,
                                                       std::span<const Position> positions,
                                                       std::size_t max_parts);

}  // namespace dt::tokenizer
