#pragma once
// A byte-pair encoding as learned: its tokens, its merges, and the tokens that a piece of text starts as.
// A vocabulary that only ranks its tokens gets its merges here.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/encode/vocabulary.hpp"

namespace dt::tokenizer {

/// The priority of a merge. A pair of smaller rank merges first.
using Rank = std::uint32_t;
inline constexpr Rank no_rank = 0xFFFFFFFF;

struct Merge {
  Rank rank = no_rank;  // no_rank: the pair stays two tokens
  Id merged = no_id;
};

/// The merges of an encoding: the pairs of neighbouring tokens that become one token, with their order.
class MergeTable {
 public:
  /// Adds a merge. Of pairs of the same rank, the leftmost in a text merges first. A pair that the
  /// table already has gets the new rank and token.
  void add(Id left, Id right, Merge merge);
  Merge find(Id left, Id right) const {
    const std::uint64_t key = key_of(left, right), hash = hash_of(key);
    if (!may_have(hash)) return {};
    const Slot& slot = slots_[slot_of(key, hash)];
    return {slot.rank, slot.merged};
  }
  std::size_t size() const { return size_; }
  /// Returns the pairs in the order of their ranks, then of their tokens' ids.
  std::vector<std::pair<Id, Id>> pairs() const;

 private:
  struct Slot {
    std::uint64_t key = ~std::uint64_t{0};  // no pair: both of its tokens would be no_id
    Rank rank = no_rank;
    Id merged = no_id;
  };
  static std::uint64_t key_of(Id left, Id right) { return (std::uint64_t{left} << 32) | right; }
  static std::uint64_t hash_of(std::uint64_t key) { return (key ^ key >> 32) * 0x9E3779B97F4A7C15; }
  /// Returns false for most pairs without a merge, which most pairs of a text are. The filter has four
  /// bits for each slot, so it stays in a nearer cache than the slots.
  bool may_have(std::uint64_t hash) const {
    const std::uint64_t bit = hash >> (shift_ - log2_bits_per_slot);
    return (filter_[bit / 64] >> bit % 64 & 1) != 0;
  }
  /// Returns the key's slot, or the empty slot where the key would go.
  std::size_t slot_of(std::uint64_t key, std::uint64_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = hash >> shift_;
    while (slots_[slot].key != key && slots_[slot].rank != no_rank) slot = (slot + 1) & mask;
    return slot;
  }
  void put(const Slot& slot);
  void grow();

  static constexpr int log2_bits_per_slot = 2;
  std::vector<Slot> slots_ = std::vector<Slot>(16);  // a power of two, at most three quarters full
  int shift_ = 60;                                   // 64 − log₂ of the number of slots
  std::vector<std::uint64_t> filter_ = std::vector<std::uint64_t>(1);
  std::size_t size_ = 0;
};

struct Bpe {
  Vocabulary vocabulary;
  MergeTable merges;
  /// True: symbols are bytes. False: symbols are characters, or bytes where a character is not a token.
  bool is_byte_level = true;
  /// Token of each byte, or no_id if the byte has none. Pieces start as these tokens; pieces of
  /// characters fall back to them.
  std::array<Id, 256> byte_ids = filled_with(no_id);
  /// Token of a symbol that has none: a character that is not a token and lacks a token for one of its
  /// bytes. no_id drops such symbols.
  Id unknown = no_id;
  /// Makes several unknown characters in a row one token.
  bool fuses_unknown = false;
  /// A piece that is a token becomes that token, whatever merges would make of it.
  bool takes_whole_pieces = false;

 private:
  static constexpr std::array<Id, 256> filled_with(Id id) {
    std::array<Id, 256> ids{};
    ids.fill(id);
    return ids;
  }
};

/// Appends the tokens of `piece` before any merge.
void append_symbols(const Bpe& bpe, std::string_view piece, std::vector<Id>& symbols);

/// Adds the merges that make `tokens`, for a vocabulary that only ranks its tokens: any two tokens that make
/// a token may merge. `ranks` are by id.
/// Only one pair ever makes a token. Until a merge crosses the borders of the token's bytes, merges
/// within them come in the same order, whatever surrounds them. The pair is therefore the two tokens
/// before the last merge within the bytes. Shorter tokens decide the pair, so they are learned first.
/// Bytes that never merge down to two tokens get no merge. Their token only occurs as a whole piece.
void learn_merges(std::vector<Id> tokens, std::span<const Rank> ranks, Bpe& bpe);

}  // namespace dt::tokenizer
