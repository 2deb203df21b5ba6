#pragma once
// The pairs of neighbouring tokens that may merge next, with their counts and positions.

#include <compare>
#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "tokenizer/train/training_words.hpp"

namespace dt::tokenizer {

struct TokenPair {
  Id left, right;
  auto operator<=>(const TokenPair&) const = default;
};

/// Numbers pairs in the order in which they come.
class PairNumbers {
 public:
  static constexpr std::uint32_t none = 0xFFFFFFFF;
  std::uint32_t find(TokenPair pair) const { return slots_[slot_of(pair)].number; }
  std::uint32_t find_or_add(TokenPair pair) {
    const std::size_t slot = slot_of(pair);
    return slots_[slot].number != none ? slots_[slot].number : add(pair, slot);
  }
  std::uint32_t size() const { return size_; }

 private:
  struct Slot {
    TokenPair pair{no_id, no_id};
    std::uint32_t number = none;
  };
  /// Returns the pair's slot, or the empty slot where the pair would go.
  std::size_t slot_of(TokenPair pair) const {
    const std::uint64_t key = std::uint64_t{pair.left} << 32 | pair.right;
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (key ^ key >> 29) * 0x9E3779B97F4A7C15 >> 32 & mask;
    while (slots_[at].pair != pair && slots_[at].number != none) at = (at + 1) & mask;
    return at;
  }
  std::uint32_t add(TokenPair pair, std::size_t slot);
  std::vector<Slot> slots_ = std::vector<Slot>(1024);  // a power of two, at most half full
  std::uint32_t size_ = 0;
};

/// A pair, its count and its positions. The positions are where the pair stood when it was added, in
/// ascending order. The count is up to date.
struct PlacedPair {
  TokenPair pair;
  std::int64_t count = 0;
  std::vector<Position> positions;
};

class PairIndex {
 public:
  /// Adds a pair that the index does not have.
  void add(TokenPair pair, std::int64_t count, std::vector<Position> positions);
  /// Lowers a pair's count. Ignores pairs that the index does not have.
  void subtract(TokenPair pair, std::int64_t count);
  /// Takes the most frequent pair; of equally frequent pairs, that with the lower token ids. Returns
  /// none if no pair has a count of at least `least`.
  std::optional<PlacedPair> take_first(std::int64_t least);

 private:
  /// A pair with its count when it was queued. The count may have become smaller since.
  struct Candidate {
    std::int64_t count;
    TokenPair pair;
    std::uint32_t number;
    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : other.pair < pair;
    }
  };
  PairNumbers numbers_;
  std::vector<PlacedPair> entries_;  // by number
  std::priority_queue<Candidate> candidates_;
};

}  // namespace dt::tokenizer
