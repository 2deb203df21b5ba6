#pragma once
// The tokens of pieces met lately. A thread's own, so without locks; of a fixed size.

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

  /// Of a piece of 1 to max_bytes bytes. Memory is read up to `readable_end`, where that is 16 bytes or more
  /// away.
  static Key key_of(std::string_view piece, const char* readable_end) {
    char copy[16];
    const char* bytes = piece.data();
    if (readable_end - bytes < 16) bytes = static_cast<const char*>(std::memcpy(copy, bytes, piece.size()));
    Key key;
    std::memcpy(&key.low, bytes, 8);
    std::memcpy(&key.high, bytes + 8, 8);
    const std::size_t size = piece.size();
    key.low &= size >= 8 ? ~std::uint64_t{0} : ~(~std::uint64_t{0} << 8 * size);
    key.high &= size > 8 ? ~(~std::uint64_t{0} << 8 * (size - 8)) : 0;
    key.high |= std::uint64_t{size} << 56;
    return key;
  }
  /// Where the key's entry is, or another's that it would replace.
  Entry& entry(Key key) {
    const std::uint64_t mixed = (key.low ^ key.high * 0xD6E8FEB86659FD93) * 0x9E3779B97F4A7C15;
    return entries_[mixed >> (64 - log2_entries)];
  }

 private:
  static constexpr int log2_entries = 16;  // 2 MiB
  std::vector<Entry> entries_ = std::vector<Entry>(std::size_t{1} << log2_entries);
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
