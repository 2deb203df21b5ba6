#include "tokenizer/encode/regex_splitter.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text/utf8.hpp"
#include "tokenizer/encode/regex.hpp"

namespace dt::tokenizer {

namespace {

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
      if (must_cover_) refuse("leaves out", text.substr(at, end - at));
      joiner.add(text.substr(at, end - at), false);
    };
    while (const auto found = search.next()) {
      add_between(found->begin);
      if (must_cover_ && found->begin == found->end)
        refuse("matches nothing before", text.substr(found->end));
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
                "expected: a pattern whose matches are never empty and cover every text");
  }

  std::string pattern_;
  Regex regex_;
  SplitBehavior behavior_;
  bool invert_, must_cover_;
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

}  // namespace

std::unique_ptr<PreTokenizer> make_regex_splitter(const std::string& regex, SplitBehavior behavior,
                                                  bool invert, bool must_cover) {
  return std::make_unique<RegexSplitter>(regex, behavior, invert, must_cover);
}

std::unique_ptr<PreTokenizer> make_sequence(std::vector<std::unique_ptr<PreTokenizer>> splitters) {
  DT_CHECK(!splitters.empty(), "nothing to split by");
  if (splitters.size() == 1) return std::move(splitters.front());
  return std::make_unique<SequenceSplitter>(std::move(splitters));
}

std::string escaped_for_regex(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("\\^$.[]|()?*+{}-/#").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace dt::tokenizer
