#pragma once
// Tokens that are no result of merging: special ones and others that a tokenizer's makers added. They are
// found in text before anything else is done with it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/vocabulary.hpp"

namespace dt::tokenizer {

/// Where a token is looked for: as `is_normalized` says, for Hugging Face's own; or as SentencePiece does, in
/// text that is normalised, by the content as it is; or nowhere, as it stands for no text.
enum class FoundIn { text, normalized_text, nothing };

/// The names are those of Hugging Face's files.
struct AddedToken {
  Id id = no_id;
  std::string content;
  bool is_special = false;
  bool takes_space_before = false;  // lstrip
  bool takes_space_after = false;   // rstrip
  bool is_normalized = false;       // it is looked for after normalising, not before
  FoundIn found_in = FoundIn::text;
  bool is_single_word = false;  // it is found only where no character of a word is its neighbour
};

/// Where tokens are in a text: the leftmost first, of those the longest. Within one that is no single word,
/// as it would have to be, none is looked for.
class AddedTokenFinder {
 public:
  AddedTokenFinder() = default;
  /// No content is empty.
  explicit AddedTokenFinder(std::vector<AddedToken> tokens);
  bool is_empty() const { return tokens_.empty(); }

  struct Found {
    std::size_t begin = 0, end = 0;  // with the white space that it takes
    Id id = no_id;
    std::size_t next = 0;  // past its content
  };
  /// Whether no token holds or takes a space between letters of ASCII.
  bool cuts_between_words() const;
  /// The first token behind the content of the `previous` one, by default of all. It may begin with white
  /// space that the previous one takes, but one that takes space before itself has only what is left, and is
  /// none where nothing is left of it. `specials`: also tokens that are special.
  std::optional<Found> find(std::string_view text, const Found& previous, bool specials = true) const;
  /// Bytes of the longest token that `text`, which is not empty, begins with; 0 where none does.
  std::size_t length_at(std::string_view text) const;

 private:
  struct Node {
    std::vector<std::pair<char, std::uint32_t>> children;
    std::uint32_t token = none;
  };
  static constexpr std::uint32_t none = 0xFFFFFFFF;
  std::uint32_t child(std::uint32_t node, char byte) const;
  static Found with_spaces(const AddedToken& token, std::string_view text, std::size_t at, std::size_t taken);
  /// The next place from `at` on of a byte that some token begins with, the text's end where there is none.
  std::size_t next_start(std::string_view text, std::size_t at) const;
  /// The longest token that begins `text`, none where none does.
  std::uint32_t longest(std::string_view text, bool specials) const;
  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_ = std::vector<Node>(1);
  std::vector<std::uint32_t> roots_ =
      std::vector<std::uint32_t>(256, none);  // the root's children by their byte
  std::string starts_;                        // those bytes
};

}  // namespace dt::tokenizer
