#pragma once
// Caches of the tokens of recent pieces. Their size is fixed. Each thread has its own, so they take no
// locks.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/encode/vocabulary.hpp"

namespace dt::tokenizer {

/// A cache of pieces of up to 15 bytes and three tokens, which most pieces are. A look-up has no branch
/// on the length.
class ShortPieceCache {
 public:
  static constexpr std::size_t max_bytes = 15, max_ids = 3;
  /// The bytes of a piece, with their number in the last byte.
  struct Key {
    std::uint64_t low, high;
    bool operator==(const Key&) const = default;
  };
  struct Entry {
    Key key{0, 0};
    Id ids[max_ids];
    std::uint32_t num_ids;
  };

  /// Returns the key of a piece, which is not empty. Longer pieces get a key that no entry has. Reads
  /// 16 bytes where `readable_end` is that far away, else the piece alone.
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
  /// Prefetches the memory that find() will read.
  void prefetch(Key key) const { __builtin_prefetch(&sets_[set_of(key)]); }
  /// Returns the key's entry, or another key's.
  const Entry& find(Key key) const {
    const CacheSet& set = sets_[set_of(key)];
    return set.entries[set.entries[1].key == key ? 1 : 0];
  }
  /// Replaces the older of the set's two entries. There are at most max_ids `ids`.
  void put(Key key, std::span<const Id> ids) {
    CacheSet& set = sets_[set_of(key)];
    set.entries[1] = set.entries[0];
    set.entries[0].key = key;
    set.entries[0].num_ids = static_cast<std::uint32_t>(ids.size());
    std::copy(ids.begin(), ids.end(), set.entries[0].ids);
  }

 private:
  /// Two entries in one cache line.
  struct alignas(64) CacheSet {
    Entry entries[2];
  };
  static std::size_t set_of(Key key) {
    const std::uint64_t mixed = (key.low ^ key.high * 0xD6E8FEB86659FD93) * 0x9E3779B97F4A7C15;
    return mixed >> (64 - log2_sets);
  }
  static constexpr int log2_sets = 15;  // 2 MiB
  std::vector<CacheSet> sets_ = std::vector<CacheSet>(std::size_t{1} << log2_sets);
};

/// A cache of pieces of up to max_bytes. It starts over when its memory is full.
class LongPieceCache {
 public:
  static constexpr std::size_t max_bytes = 256;
  LongPieceCache();
  /// Returns the piece's tokens, or nothing if the cache lacks the piece. The result is valid until
  /// the next put().
  std::span<const Id> find(std::string_view piece) const;
  /// Adds a piece. Pieces without tokens are never found.
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
