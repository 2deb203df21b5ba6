#include "tokenizer/encode/word_splitter.hpp"

#include <algorithm>

namespace dt::tokenizer {

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
