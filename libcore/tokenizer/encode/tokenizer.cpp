#include "tokenizer/encode/tokenizer.hpp"

#include <algorithm>

namespace dt::tokenizer {

namespace {

bool cuts_between_words(const Tokenizer& tokenizer) {
  return tokenizer.raw_added_tokens.cuts_between_words() &&
         tokenizer.normalized_added_tokens.cuts_between_words() &&
         (!tokenizer.normalizer || tokenizer.normalizer->cuts_between_words()) && !tokenizer.preparer &&
         tokenizer.pre_tokenizer && tokenizer.pre_tokenizer->cuts_between_words();
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

std::size_t safe_cut(const Tokenizer& tokenizer, std::string_view text) {
  if (!cuts_between_words(tokenizer)) return 0;
  for (std::size_t at = text.size(); at-- > 2;) {
    if (is_letter(text[at]) && text[at - 1] == ' ' && is_letter(text[at - 2])) return at - 1;
  }
  return 0;
}

namespace {

constexpr std::string_view space = "\u2581";

/// Returns whether a run of spaces begins within `token`, after something else.
bool holds_border(std::string_view token) {
  for (std::size_t at = token.find(space, 1); at != token.npos; at = token.find(space, at + 1)) {
    if (!token.substr(0, at).ends_with(space)) return true;
  }
  return false;
}

class WordSplitter final : public PreTokenizer {
 public:
  void split(std::string_view text, PieceSink& sink) const override {
    while (!text.empty()) {
      const std::size_t word = after_spaces(text);
      const std::size_t end = std::min(text.find(space, word), text.size());
      sink.add(text.substr(0, end));
      text.remove_prefix(end);
    }
  }

 private:
  static std::size_t after_spaces(std::string_view text) {
    std::size_t at = 0;
    while (text.substr(at).starts_with(space)) at += space.size();
    return at;
  }
};

}  // namespace

std::unique_ptr<PreTokenizer> make_word_splitter(const Bpe& bpe) {
  const Vocabulary& vocabulary = bpe.vocabulary;
  // An unknown space may be part of a run of unknown characters, which are one token.
  if (bpe.is_byte_level || bpe.takes_whole_pieces || vocabulary.find(space) == no_id) return nullptr;
  for (Id id = 0; id < vocabulary.size(); ++id) {
    if (holds_border(vocabulary.bytes(id))) return nullptr;
  }
  return std::make_unique<WordSplitter>();
}

}  // namespace dt::tokenizer
