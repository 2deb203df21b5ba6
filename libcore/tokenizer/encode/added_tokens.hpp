#pragma once
// Finds tokens that do not come from merging: special tokens and others that a tokenizer's makers
// added. The encoder finds them in text before it does anything else with it.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/enum_names.hpp"
#include "tokenizer/encode/vocabulary.hpp"

namespace dt::tokenizer {

/// The text in which the encoder looks for an added token. `text`: raw or normalized text,
/// depending on `is_normalized` (Hugging Face). `normalized_text`: normalized text, in which the
/// content itself is not normalized (SentencePiece). `nothing`: none, since no text stands for the
/// token.
enum class FoundIn { text, normalized_text, nothing };
/// The names in `dt_found_in` of a tokenizer.json.
constexpr auto enum_names(FoundIn) {
  using enum FoundIn;
  return std::to_array<EnumName<FoundIn>>(
      {{"text", text}, {"normalized text", normalized_text}, {"nothing", nothing}});
}

/// Names follow Hugging Face's files.
struct AddedToken {
  Id id = no_id;
  std::string content;
  bool is_special = false;
  bool takes_space_before = false;  // lstrip
  bool takes_space_after = false;   // rstrip
  bool is_normalized = false;       // found after normalization, not before
  FoundIn found_in = FoundIn::text;
  bool is_single_word = false;  // found only where no neighbour is a word character
};

/// Finds tokens in a text: the leftmost first, and the longest of several at one position. A token that
/// must be a single word and is not is skipped with its whole content.
class AddedTokenFinder {
 public:
  AddedTokenFinder() = default;
  /// Every token's content must be non-empty.
  /// Errors: input if a content has more than 256 bytes.
  explicit AddedTokenFinder(std::vector<AddedToken> tokens);
  bool is_empty() const { return tokens_.empty(); }

  struct Found {
    std::size_t begin = 0, end = 0;  // includes the white space that the token takes
    Id id = no_id;
    std::size_t next = 0;  // end of the token's content
  };
  /// Returns whether no token contains a space or takes white space.
  bool cuts_between_words() const;
  /// Returns the first token behind the content of `previous`. With `specials`, also looks for special
  /// tokens. The token may begin within white space that `previous` takes. A token that takes space
  /// before itself gets only the space that `previous` left. It is not found where `previous` took all
  /// of it.
  std::optional<Found> find(std::string_view text, const Found& previous, bool specials = true) const;
  /// Returns the length in bytes of the longest token at the start of `text`, or 0 if there is none.
  /// `text` must not be empty.
  std::size_t length_at(std::string_view text) const;

 private:
  struct Node {
    std::vector<std::pair<char, std::uint32_t>> children;
    std::uint32_t token = none;
  };
  static constexpr std::uint32_t none = 0xFFFFFFFF;
  std::uint32_t child(std::uint32_t node, char byte) const;
  static Found with_spaces(const AddedToken& token, std::string_view text, std::size_t at, std::size_t taken);
  /// Returns the next position from `at` on with a byte that begins some token, or the text's end if
  /// there is none.
  std::size_t next_start(std::string_view text, std::size_t at) const;
  /// Returns the index of the longest token at the start of `text`, or `none`.
  std::uint32_t longest(std::string_view text, bool specials) const;
  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_ = std::vector<Node>(1);
  std::vector<std::uint32_t> roots_ =
      std::vector<std::uint32_t>(256, none);  // children of the root by their byte
  std::string starts_;                        // bytes of the root's children
};

}  // namespace dt::tokenizer
