#include "tokenizer/encode/tokenizer.hpp"

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

}  // namespace dt::tokenizer
