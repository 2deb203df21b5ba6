#include "tokenizer/encode/pattern_splitter.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text/utf8.hpp"
#include "tokenizer/encode/bpe.hpp"
#include "tokenizer/encode/regex.hpp"

namespace dt::tokenizer {

namespace {

/// Takes matches and the text between them, in order, and passes on pieces as `behavior` says. An
/// empty match separates its neighbours.
class SplitJoiner {
 public:
  /// `invert`: matches and the text between them change roles.
  SplitJoiner(SplitBehavior behavior, bool invert, PieceSink& sink)
      : behavior_(behavior), invert_(invert), sink_(sink) {}
  SplitJoiner(const SplitJoiner&) = delete;

  void add(std::string_view piece, bool is_match) {
    is_match = is_match != invert_;
    switch (behavior_) {
      case SplitBehavior::removed:
        if (!is_match) emit(piece);
        return;
      case SplitBehavior::isolated:
        return emit(piece);
      case SplitBehavior::merged_with_previous:
        return join(piece, is_match && !last_is_match_, is_match);
      case SplitBehavior::merged_with_next:
        return join(piece, last_is_match_ && !is_match, is_match);
      case SplitBehavior::contiguous:
        return join(piece, is_match == last_is_match_, is_match);
    }
  }
  /// Call after the last piece.
  void finish() {
    emit(pending_);
    pending_ = {};
    last_is_match_ = false;
  }

 private:
  void emit(std::string_view piece) {
    if (!piece.empty()) sink_.add(piece);
  }
  /// `with_held`: the piece joins the one before it, if there is one.
  void join(std::string_view piece, bool with_held, bool is_match) {
    if (with_held && pending_.data() != nullptr) {
      pending_ = std::string_view(pending_.data(), pending_.size() + piece.size());
    } else {
      emit(pending_);
      pending_ = piece;
    }
    last_is_match_ = is_match;
  }

  SplitBehavior behavior_;
  bool invert_;
  PieceSink& sink_;
  std::string_view pending_;
  bool last_is_match_ = false;
};

class RegexSplitter final : public PreTokenizer {
 public:
  RegexSplitter(const std::string& regex, SplitBehavior behavior, bool invert, bool must_cover)
      : pattern_(regex), regex_(regex), behavior_(behavior), invert_(invert), must_cover_(must_cover) {}

  void split(std::string_view text, PieceSink& sink) const override { split_each({&text, 1}, sink); }
  void split_each(std::span<const std::string_view> texts, PieceSink& sink) const override {
    Regex::Search search(regex_);
    SplitJoiner joiner(behavior_, invert_, sink);
    for (const std::string_view text : texts) {
      if (text.empty()) continue;
      search.start(text);
      split_one(text, search, joiner);
    }
  }
  bool runs_regex() const override { return true; }

 private:
  void split_one(std::string_view text, Regex::Search& search, SplitJoiner& joiner) const {
    std::size_t at = 0;
    const auto add_between = [&](std::size_t end) {
      if (end == at) return;
      if (must_cover_) refuse("does not match", text.substr(at, end - at));
      joiner.add(text.substr(at, end - at), false);
    };
    while (const auto found = search.next()) {
      add_between(found->begin);
      if (must_cover_ && found->begin == found->end)
        refuse("has an empty match before", text.substr(found->end));
      joiner.add(text.substr(found->begin, found->end - found->begin), true);
      at = found->end;
    }
    add_between(text.size());
    joiner.finish();
  }

  [[noreturn]] void refuse(std::string_view fault, std::string_view text) const {
    std::size_t end = 0;
    for (int i = 0; i < 20 && end < text.size(); ++i) end += character_length(text.substr(end));
    throw Error(ErrorKind::input,
                fmt::format("the pattern {} {} \"{}\"", pattern_, fault, text.substr(0, end)),
                "use a pattern whose matches are never empty and cover every text");
  }

  std::string pattern_;
  Regex regex_;
  SplitBehavior behavior_;
  bool invert_, must_cover_;
};

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
    DT_CHECK(!sought_.empty(), "a splitter has no text to split by");
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

/// Splits pieces further and passes them on.
class SplittingSink final : public PieceSink {
 public:
  SplittingSink(const PreTokenizer& splitter, PieceSink& next) : splitter_(splitter), next_(next) {}

 protected:
  void take(std::span<const std::string_view> pieces) override { splitter_.split_each(pieces, next_); }

 private:
  const PreTokenizer& splitter_;
  PieceSink& next_;
};

class SequenceSplitter final : public PreTokenizer {
 public:
  explicit SequenceSplitter(std::vector<std::unique_ptr<PreTokenizer>> splitters)
      : splitters_(std::move(splitters)) {}
  void split(std::string_view text, PieceSink& sink) const override { split_each({&text, 1}, sink); }
  void split_each(std::span<const std::string_view> texts, PieceSink& sink) const override {
    std::vector<std::unique_ptr<SplittingSink>> stages;  // last stage first
    PieceSink* next = &sink;
    for (std::size_t i = splitters_.size() - 1; i > 0; --i) {
      stages.push_back(std::make_unique<SplittingSink>(*splitters_[i], *next));
      next = stages.back().get();
    }
    splitters_[0]->split_each(texts, *next);
    for (std::size_t i = stages.size(); i > 0; --i) stages[i - 1]->flush();
  }
  bool runs_regex() const override {
    return std::ranges::any_of(splitters_, [](const auto& splitter) { return splitter->runs_regex(); });
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> splitters_;
};

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

std::unique_ptr<PreTokenizer> make_regex_splitter(const std::string& regex, SplitBehavior behavior,
                                                  bool invert, bool must_cover) {
  return std::make_unique<RegexSplitter>(regex, behavior, invert, must_cover);
}

std::string escaped_for_regex(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("\\^$.[]|()?*+{}-/#").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::unique_ptr<PreTokenizer> make_character_splitter(const CodePointSet& set, SplitBehavior behavior) {
  return std::make_unique<CharacterSplitter>(set, behavior);
}
std::unique_ptr<PreTokenizer> make_word_and_punctuation_splitter() {
  return std::make_unique<WordAndPunctuationSplitter>();
}
std::unique_ptr<PreTokenizer> make_text_splitter(std::string text, SplitBehavior behavior, bool invert) {
  return std::make_unique<TextSplitter>(std::move(text), behavior, invert);
}

std::unique_ptr<PreTokenizer> make_word_splitter(const Bpe& bpe) {
  const Vocabulary& vocabulary = bpe.vocabulary;
  // An unknown space may be part of a run of unknown characters, which are one token.
  if (bpe.is_byte_level || bpe.takes_whole_pieces || vocabulary.find(space) == no_id) return nullptr;
  for (Id id = 0; id < vocabulary.size(); ++id) {
    if (holds_border(vocabulary.bytes(id))) return nullptr;
  }
  return std::make_unique<WordSplitter>();
}

std::unique_ptr<PreTokenizer> make_sequence(std::vector<std::unique_ptr<PreTokenizer>> splitters) {
  DT_CHECK(!splitters.empty(), "a splitter has no text to split by");
  if (splitters.size() == 1) return std::move(splitters.front());
  return std::make_unique<SequenceSplitter>(std::move(splitters));
}

}  // namespace dt::tokenizer
