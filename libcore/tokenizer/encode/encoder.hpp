#pragma once
// Turns text into ids, with caches of the tokens of recent pieces. Each thread has an encoder; all threads
// share one tokenizer.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/encode/bounded_text.hpp"
#include "tokenizer/encode/merger.hpp"
#include "tokenizer/encode/tokenizer.hpp"
#include "tokenizer/encode/vocabulary.hpp"

namespace dt::tokenizer {

/// A cache of the tokens of recent pieces of up to 15 bytes and three tokens, which most pieces are. Its
/// size is fixed. Each thread has its own, so it takes no locks. A look-up has no branch on the length.
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

/// A cache of the tokens of recent pieces of up to max_bytes. Its size is fixed: it starts over when its
/// memory is full. Each thread has its own, so it takes no locks.
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

class Encoder final : private PieceSink {
 public:
  /// `tokenizer` must outlive the encoder and not move. An encoder takes 5 to 13 MiB whatever it
  /// encodes, except for pieces of megabytes.
  explicit Encoder(const Tokenizer& tokenizer);
  /// Appends the ids of a document, without those that a model expects at its start or end.
  /// `text` is valid UTF-8. If it is not, the ids are those of some text. The normalizer may
  /// lengthen the text to max_grown_bytes().
  /// Errors: as Regex and Normalizer.
  void encode(std::string_view text, std::vector<Id>& ids);
  /// Encodes as encode() does, except that a special token written out in `text` is text.
  void encode_without_specials(std::string_view text, std::vector<Id>& ids);

 private:
  void encode_document(std::string_view text, bool finds_specials, std::vector<Id>& ids);
  void take(std::span<const std::string_view> pieces) override;
  static std::string_view changed(const Normalizer& step, std::string_view text, bool is_first,
                                  BoundedText& buffer);
  void encode_normalized(std::string_view text, bool is_first);
  void encode_plain(std::string_view text);
  void encode_rarer(std::string_view piece);
  bool remember_short(std::string_view piece, std::span<const Id> ids);
  void merge(std::string_view piece);
  template <class Plain>
  void encode_around(const AddedTokenFinder& added, std::string_view text, Plain plain);

  const Tokenizer& tokenizer_;
  Merger merger_;
  ShortPieceCache short_;
  LongPieceCache long_;
  BoundedText normalized_{0}, prepared_{0};
  std::vector<Id> symbols_;
  std::vector<Id>* ids_ = nullptr;
  const char* text_end_ = nullptr;  // end of the text that holds the pieces
  bool finds_specials_ = true;      // in the current text
};

}  // namespace dt::tokenizer
