#pragma once
// The tokens of pieces met lately. A thread's own, so without locks; of a fixed size.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/vocabulary.hpp"

namespace dt::tokenizer {

/// Pieces of up to 15 bytes with up to three tokens, which most are: looked up without a branch on their
/// length.
class ShortPieceCache {
 public:
  static constexpr std::size_t max_bytes = 15, max_ids = 3;
  /// The bytes, and their count in the last one.
  struct Key {
    std::uint64_t low, high;
    bool operator==(const Key&) const = default;
  };
  struct Entry {
    Key key{0, 0};
    Id ids[max_ids];
    std::uint32_t num_ids;
  };

  /// Of a piece, which is not empty; longer ones have a key that none is put under. Memory is read up to
  /// `readable_end`, where that is 16 bytes or more away.
  static Key key_of(std::string_view piece, const char* readable_end) {
    const std::size_t size = piece.size();
    if (size > max_bytes) return {0, ~std::uint64_t{0}};
    char copy[16];
    const char* bytes = piece.data();
    if (readable_end - bytes < 16) bytes = static_cast<const char*>(std::memcpy(copy, bytes, size));
    Key key;
    std::memcpy(&key.low, bytes, 8);
    std::memcpy(&key.high, bytes + 8, 8);
    key.low &= size >= 8 ? ~std::uint64_t{0} : ~(~std::uint64_t{0} << 8 * size);
    key.high &= size > 8 ? ~(~std::uint64_t{0} << 8 * (size - 8)) : 0;
    key.high |= std::uint64_t{size} << 56;
    return key;
  }
  /// Asks for the memory that `find` will read.
  void prefetch(Key key) const { __builtin_prefetch(&sets_[set_of(key)]); }
  /// The key's entry, or another's.
  const Entry& find(Key key) const {
    const Set& set = sets_[set_of(key)];
    return set.entries[set.entries[1].key == key ? 1 : 0];
  }
  /// In the place of the older of two. `ids`: at most max_ids.
  void put(Key key, std::span<const Id> ids) {
    Set& set = sets_[set_of(key)];
    set.entries[1] = set.entries[0];
    set.entries[0].key = key;
    set.entries[0].num_ids = static_cast<std::uint32_t>(ids.size());
    std::copy(ids.begin(), ids.end(), set.entries[0].ids);
  }

 private:
  /// A line of the processor's cache.
  struct alignas(64) Set {
    Entry entries[2];
  };
  static std::size_t set_of(Key key) {
    const std::uint64_t mixed = (key.low ^ key.high * 0xD6E8FEB86659FD93) * 0x9E3779B97F4A7C15;
    return mixed >> (64 - log2_sets);
  }
  static constexpr int log2_sets = 15;  // 2 MiB
  std::vector<Set> sets_ = std::vector<Set>(std::size_t{1} << log2_sets);
};

/// Any pieces, up to some length. When its memory is full it begins anew.
class LongPieceCache {
 public:
  static constexpr std::size_t max_bytes = 256;
  LongPieceCache();
  /// Nothing where it does not know the piece; valid until the next `put`.
  std::span<const Id> find(std::string_view piece) const;
  /// Pieces without tokens are never found.
  void put(std::string_view piece, std::span<const Id> ids);

 private:
  struct Entry {
    std::uint64_t digest = 0;
    std::uint32_t text = 0, num_bytes = 0, first_id = 0, num_ids = 0;
  };
  std::vector<Entry> entries_;
  std::vector<char> text_;
  std::vector<Id> ids_;
};

}  // namespace dt::tokenizer
