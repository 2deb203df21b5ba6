#include "tokenizer/regex_splitter.hpp"

#include "base/error.hpp"
#include "tokenizer/regex.hpp"

namespace dt::tokenizer {

namespace {

/// Matches and the stretches between them, joined to pieces as the behavior says.
class Joiner {
 public:
  Joiner(SplitBehavior behavior, PieceSink& sink) : behavior_(behavior), sink_(sink) {}
  ~Joiner() { release(); }
  Joiner(const Joiner&) = delete;

  void match(std::string_view piece) {
    switch (behavior_) {
      case SplitBehavior::removed:
        return;
      case SplitBehavior::isolated:
      case SplitBehavior::matches_only:
        return sink_.add(piece);
      case SplitBehavior::merged_with_previous:
        hold(piece);
        return release();
      case SplitBehavior::merged_with_next:
        release();
        return hold(piece);
      case SplitBehavior::contiguous:
        return hold(piece);
    }
  }

  void between(std::string_view piece) {
    switch (behavior_) {
      case SplitBehavior::matches_only:
        return;
      case SplitBehavior::removed:
      case SplitBehavior::isolated:
        return sink_.add(piece);
      case SplitBehavior::merged_with_previous:
        return hold(piece);
      case SplitBehavior::merged_with_next:
        hold(piece);
        return release();
      case SplitBehavior::contiguous:
        release();
        return sink_.add(piece);
    }
  }

 private:
  /// Neighbours in the text become one piece.
  void hold(std::string_view piece) {
    held_ = held_.empty() ? piece : std::string_view(held_.data(), held_.size() + piece.size());
  }
  void release() {
    if (!held_.empty()) sink_.add(held_);
    held_ = {};
  }
  SplitBehavior behavior_;
  PieceSink& sink_;
  std::string_view held_;
};

class RegexSplitter final : public PreTokenizer {
 public:
  RegexSplitter(const std::string& regex, SplitBehavior behavior, bool invert)
      : regex_(regex), behavior_(behavior), invert_(invert) {}

  void split(std::string_view text, PieceSink& sink) const override {
    Joiner joiner(behavior_, sink);
    const auto add = [&](std::string_view piece, bool is_match) {
      if (piece.empty()) return;
      if (is_match != invert_) {
        joiner.match(piece);
      } else {
        joiner.between(piece);
      }
    };
    Regex::Search search(regex_, text);
    std::size_t at = 0;
    while (const auto found = search.next()) {
      add(text.substr(at, found->begin - at), false);
      add(text.substr(found->begin, found->end - found->begin), true);
      at = found->end;
    }
    add(text.substr(at), false);
  }

 private:
  Regex regex_;
  SplitBehavior behavior_;
  bool invert_;
};

/// Splits further what it is handed.
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
    std::vector<std::unique_ptr<SplittingSink>> stages;  // the last first
    PieceSink* next = &sink;
    for (std::size_t i = splitters_.size() - 1; i > 0; --i) {
      stages.push_back(std::make_unique<SplittingSink>(*splitters_[i], *next));
      next = stages.back().get();
    }
    splitters_[0]->split_each(texts, *next);
    for (std::size_t i = stages.size(); i > 0; --i) stages[i - 1]->flush();
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> splitters_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_regex_splitter(const std::string& regex, SplitBehavior behavior,
                                                  bool invert) {
  return std::make_unique<RegexSplitter>(regex, behavior, invert);
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
