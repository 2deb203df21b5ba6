#include "tokenizer/encode/character_splitter.hpp"

#include "base/error.hpp"
#include "base/text/utf8.hpp"

namespace dt::tokenizer {

namespace {

/// The first character of a text. An invalid byte has a code point above all characters.
struct Character {
  char32_t code_point;
  std::size_t length;
};
Character first_character(std::string_view text) {
  if (static_cast<unsigned char>(text.front()) < 0x80) return {static_cast<char32_t>(text.front()), 1};
  const std::size_t length = character_length(text);
  if (!is_valid_utf8(text.substr(0, length))) return {CodePointSet::last_code_point + 1, 1};
  return {first_code_point(text), length};
}

class CharacterSplitter final : public PreTokenizer {
 public:
  CharacterSplitter(const CodePointSet& set, SplitBehavior behavior) : table_(set), behavior_(behavior) {}

  void split(std::string_view text, PieceSink& sink) const override {
    SplitJoiner joiner(behavior_, false, sink);
    std::size_t begin = 0;  // start of the text between matches
    for (std::size_t at = 0; at < text.size();) {
      const Character next = first_character(text.substr(at));
      if (table_.contains(next.code_point)) {
        if (at > begin) joiner.add(text.substr(begin, at - begin), false);
        joiner.add(text.substr(at, next.length), true);
        begin = at + next.length;
      }
      at += next.length;
    }
    if (begin < text.size()) joiner.add(text.substr(begin), false);
    joiner.finish();
  }

 private:
  CodePointTable table_;
  SplitBehavior behavior_;
};

class WordAndPunctuationSplitter final : public PreTokenizer {
 public:
  void split(std::string_view text, PieceSink& sink) const override {
    std::size_t begin = 0;
    Kind kind = Kind::space;
    for (std::size_t at = 0; at < text.size();) {
      const Character next = first_character(text.substr(at));
      const Kind next_kind = kind_of(next.code_point);
      if (next_kind != kind) {
        if (kind != Kind::space) sink.add(text.substr(begin, at - begin));
        begin = at;
        kind = next_kind;
      }
      at += next.length;
    }
    if (kind != Kind::space) sink.add(text.substr(begin));
  }

 private:
  enum class Kind { space, word, other };
  Kind kind_of(char32_t code_point) const {
    if (words_.contains(code_point)) return Kind::word;
    return spaces_.contains(code_point) ? Kind::space : Kind::other;
  }
  CodePointTable words_{rust_word_characters()};
  CodePointTable spaces_{property("whitespace")};
};

class TextSplitter final : public PreTokenizer {
 public:
  TextSplitter(std::string text, SplitBehavior behavior, bool invert)
      : sought_(std::move(text)), behavior_(behavior), invert_(invert) {
    DT_CHECK(!sought_.empty(), "nothing to split by");
  }

  void split(std::string_view text, PieceSink& sink) const override {
    SplitJoiner joiner(behavior_, invert_, sink);
    std::size_t at = 0;
    for (std::size_t found; (found = text.find(sought_, at)) != text.npos; at = found + sought_.size()) {
      if (found > at) joiner.add(text.substr(at, found - at), false);
      joiner.add(text.substr(found, sought_.size()), true);
    }
    if (at < text.size()) joiner.add(text.substr(at), false);
    joiner.finish();
  }

 private:
  std::string sought_;
  SplitBehavior behavior_;
  bool invert_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_character_splitter(const CodePointSet& set, SplitBehavior behavior) {
  return std::make_unique<CharacterSplitter>(set, behavior);
}
std::unique_ptr<PreTokenizer> make_word_and_punctuation_splitter() {
  return std::make_unique<WordAndPunctuationSplitter>();
}
std::unique_ptr<PreTokenizer> make_text_splitter(std::string text, SplitBehavior behavior, bool invert) {
  return std::make_unique<TextSplitter>(std::move(text), behavior, invert);
}

}  // namespace dt::tokenizer
