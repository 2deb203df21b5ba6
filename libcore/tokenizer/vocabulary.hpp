#pragma once
// The tokens of a tokenizer: what bytes an id stands for, and which id stands for bytes.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dt::tokenizer {

using Id = std::uint32_t;
inline constexpr Id no_id = 0xFFFFFFFF;
/// Ids lie below it; a table of this many is still memory that any machine has.
inline constexpr Id max_vocabulary = 1 << 22;

/// Ids may have gaps, as files have: an id without a token has no bytes.
class Vocabulary {
 public:
  /// Lets `find` know `id` by these bytes and decodes it to them. Of several ids with the same bytes `find`
  /// knows the first. Ids are below max_vocabulary. Errors: internal where they are not.
  void set(Id id, std::string_view bytes);
  /// Decodes `id` to these bytes, or to other ones than before. What `find` knows stays as it is.
  void set_unfindable(Id id, std::string_view bytes);

  /// One more than the largest id that was set.
  Id size() const { return static_cast<Id>(tokens_.size()); }
  bool has(Id id) const { return id < size() && tokens_[id].is_set; }
  /// Empty where there is no such token.
  std::string_view bytes(Id id) const { return id < size() ? std::string_view(tokens_[id].bytes) : ""; }
  /// no_id where no token is these bytes.
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
  /// `tag` are bits of the bytes' digest that do not say which slot it is: they tell most others apart.
  struct Slot {
    std::uint32_t index = none;  // of findable_
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
