#include "tokenizer/encode/added_tokens.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text/utf8.hpp"
#include "tokenizer/unicode/characters.hpp"
#include "tokenizer/unicode/code_point_set.hpp"

namespace dt::tokenizer {

namespace {

/// Limit on a token's content. The longest contents of real tokenizers have about 100 bytes. A
/// search may compare a whole content at every position of a text.
constexpr std::size_t max_content_bytes = 256;

bool is_space(std::string_view text, std::size_t at, std::size_t& length) {
  const Character next = CharacterTable::get().at(text.data() + at, text.data() + text.size());
  length = next.length;
  return (next.char_class & char_whitespace) != 0;
}

/// Returns the start of the character that ends at `end`, which is beyond `from`. The start is not
/// before `from`.
std::size_t last_character(std::string_view text, std::size_t from, std::size_t end) {
  std::size_t begin = end - 1;
  while (begin > from && continues_character(text[begin])) --begin;
  return begin;
}

std::size_t before_spaces(std::string_view text, std::size_t from, std::size_t at) {
  while (at > from) {
    std::size_t length = 0;
    const std::size_t begin = last_character(text, from, at);
    if (!is_space(text, begin, length)) break;
    at = begin;
  }
  return at;
}

std::size_t after_spaces(std::string_view text, std::size_t at) {
  for (std::size_t length = 0; at < text.size() && is_space(text, at, length);) at += length;
  return at;
}

/// Returns whether words contain the character, by the definition of Rust's regex crate.
bool is_word_character(std::string_view character) {
  static const CodePointTable words(rust_word_characters());
  return is_valid_utf8(character) && words.contains(first_code_point(character));
}

/// Returns whether no word character is next to [begin, end).
bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  if (begin > 0) {
    const std::size_t previous = last_character(text, 0, begin);
    if (is_word_character(text.substr(previous, begin - previous))) return false;
  }
  const std::string_view rest = text.substr(end);
  return rest.empty() || !is_word_character(rest.substr(0, character_length(rest)));
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  for (std::uint32_t i = 0; i < tokens_.size(); ++i) {
    DT_CHECK(!tokens_[i].content.empty(), "the added token {} is empty", tokens_[i].id);
    if (tokens_[i].content.size() > max_content_bytes)
      throw input_error("the added token {} has {} bytes; the limit is {}", tokens_[i].id,
                        tokens_[i].content.size(), max_content_bytes);
    std::uint32_t node = 0;
    for (const char byte : tokens_[i].content) {
      std::uint32_t next = child(node, byte);
      if (next == none) {
        next = static_cast<std::uint32_t>(nodes_.size());
        nodes_[node].children.emplace_back(byte, next);
        nodes_.emplace_back();
      }
      node = next;
    }
    nodes_[node].token = i;
  }
  for (const auto& [byte, node] : nodes_[0].children) {
    roots_[static_cast<unsigned char>(byte)] = node;
    starts_ += byte;
  }
}

bool AddedTokenFinder::cuts_between_words() const {
  return std::none_of(tokens_.begin(), tokens_.end(), [](const AddedToken& token) {
    return token.takes_space_before || token.takes_space_after ||
           token.content.find(' ') != std::string::npos;
  });
}

std::uint32_t AddedTokenFinder::child(std::uint32_t node, char byte) const {
  for (const auto& [of, next] : nodes_[node].children) {
    if (of == byte) return next;
  }
  return none;
}

std::uint32_t AddedTokenFinder::longest(std::string_view text, bool specials) const {
  std::uint32_t node = roots_[static_cast<unsigned char>(text.front())], token = none;
  for (std::size_t i = 1; node != none; ++i) {
    const std::uint32_t here = nodes_[node].token;
    if (here != none && (specials || !tokens_[here].is_special)) token = here;
    node = i < text.size() ? child(node, text[i]) : none;
  }
  return token;
}

std::size_t AddedTokenFinder::length_at(std::string_view text) const {
  const std::uint32_t index = longest(text, true);
  return index == none ? 0 : tokens_[index].content.size();
}

std::size_t AddedTokenFinder::next_start(std::string_view text, std::size_t at) const {
  constexpr std::size_t few = 3, stretch = 512;  // up to `few` first bytes are searched for in turn
  if (starts_.size() > few) {
    while (at < text.size() && roots_[static_cast<unsigned char>(text[at])] == none) ++at;
    return at;
  }
  for (; at < text.size(); at += stretch) {
    const std::string_view here = text.substr(at, stretch);
    std::string_view before = here;
    for (const char start : starts_) before = before.substr(0, before.find(start));
    if (before.size() < here.size()) return at + before.size();
  }
  return text.size();
}

std::optional<AddedTokenFinder::Found> AddedTokenFinder::find(std::string_view text, const Found& previous,
                                                              bool specials) const {
  for (std::size_t at = next_start(text, previous.next); at < text.size(); at = next_start(text, at + 1)) {
    const std::uint32_t index = longest(text.substr(at), specials);
    if (index == none) continue;
    const Found found = with_spaces(tokens_[index], text, at, previous.end);
    const bool may_stand = !tokens_[index].is_single_word || stands_alone(text, at, found.next);
    if (may_stand && found.begin < found.end) return found;
    at = found.next - 1;
  }
  return std::nullopt;
}

/// Returns the extent of a token whose content begins at `at`. The token before it took white space up
/// to `taken`.
AddedTokenFinder::Found AddedTokenFinder::with_spaces(const AddedToken& token, std::string_view text,
                                                      std::size_t at, std::size_t taken) {
  const std::size_t end = at + token.content.size();
  return {token.takes_space_before ? std::max(taken, before_spaces(text, taken, at)) : at,
          token.takes_space_after ? after_spaces(text, end) : end, token.id, end};
}

}  // namespace dt::tokenizer
