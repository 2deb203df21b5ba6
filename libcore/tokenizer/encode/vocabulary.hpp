#pragma once
// The tokens of a tokenizer: an id's bytes, and the id of bytes.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dt::tokenizer {

using Id = std::uint32_t;
inline constexpr Id no_id = 0xFFFFFFFF;
/// Ids are below this number. Any machine has the memory for a table of this size.
inline constexpr Id max_vocabulary = 1 << 22;

/// Tokens by id and by bytes. Ids may have gaps, as in files: an id without a token has no bytes.
class Vocabulary {
 public:
  /// Sets the bytes of `id`, and lets find() find `id` by them. Of several ids with the same bytes,
  /// find() returns the first.
  /// Errors: internal if the id is not below max_vocabulary.
  void set(Id id, std::string_view bytes);
  /// Sets the bytes of `id`, or replaces them. The results of find() do not change.
  void set_unfindable(Id id, std::string_view bytes);

  /// Returns one more than the largest id that was set.
  Id size() const { return static_cast<Id>(tokens_.size()); }
  bool has(Id id) const { return id < size() && tokens_[id].is_set; }
  /// Returns the token's bytes, or "" if there is no such token.
  std::string_view bytes(Id id) const { return id < size() ? std::string_view(tokens_[id].bytes) : ""; }
  /// Returns the token that has these bytes, or no_id.
  Id find(std::string_view bytes) const;

 private:
  struct Token {
    std::string bytes;
    bool is_set = false;
  };
  struct Findable {
    std::string bytes;
    Id id = no_id;
  };
  /// `tag` holds bits of the bytes' digest that do not choose the slot. They tell most other tokens
  /// apart.
  struct Slot {
    std::uint32_t index = none;  // index in findable_
    std::uint32_t tag = 0;
  };
  static constexpr std::uint32_t none = 0xFFFFFFFF;
  std::size_t slot_of(std::string_view bytes, std::uint64_t digest) const;
  void grow();
  std::vector<Token> tokens_;
  std::vector<Findable> findable_;
  std::vector<Slot> slots_;  // open addressing, a power of two of them, at most half full
};

}  // namespace dt::tokenizer
