// The text of --help and --version.

#include <algorithm>

#include "base/cli/options_state.hpp"
#include "base/text/text.hpp"

namespace dt {

namespace {

constexpr std::size_t min_width = 40;
constexpr std::size_t max_name_column = 34;

std::string left_column(const OptionEntry& entry) {
  std::string text = entry.letter.empty() ? "  " : fmt::format("  -{}, ", entry.letter);
  text += entry.shows_no ? "--[no-]" + entry.name : "--" + entry.name;
  return entry.metavar.empty() ? text : text + " " + entry.metavar;
}

std::string right_column(const OptionEntry& entry) {
  if (entry.default_text.empty()) return entry.help;
  return fmt::format("{} (default: {})", entry.help, entry.default_text);
}

/// Writes rows of two columns, broken into lines of at most `width` columns.
class Page {
 public:
  Page(const std::vector<OptionEntry>& entries, std::size_t width) : width_(std::max(width, min_width)) {
    for (const OptionEntry& entry : entries) {
      const std::size_t left = display_width(left_column(entry)) + 2;
      if (left <= std::min(max_name_column, width_ / 2)) indent_ = std::max(indent_, left);
    }
  }

  void add(const std::string& text) { text_ += text; }
  /// Appends words from `column` on. Lines after the first are indented.
  void add_wrapped(std::size_t column, std::size_t indent, const std::string& text) {
    bool first = true;
    for (const std::string& word : split(text, ' ')) {
      const std::size_t width = display_width(word);
      if (!first && column + 1 + width > width_) {
        text_ += "\n" + std::string(indent, ' ');
        column = indent;
        first = true;
      }
      text_ += first ? word : " " + word;
      column += width + (first ? 0 : 1);
      first = false;
    }
    text_ += "\n";
  }
  void add_row(const std::string& left, const std::string& right) {
    const std::size_t width = display_width(left);
    text_ += left;
    text_ += width + 2 > indent_ ? "\n" + std::string(indent_, ' ') : std::string(indent_ - width, ' ');
    add_wrapped(indent_, indent_, right);
  }
  std::string take() { return std::move(text_); }

 private:
  std::size_t width_;
  std::size_t indent_ = 8;
  std::string text_;
};

std::string sizes_text(const std::vector<OptionEntry>& entries) {
  std::string names;
  for (const OptionEntry& entry : entries) {
    if (entry.in_binary) names += (names.empty() ? "--" : ", --") + entry.name;
  }
  const std::string others = "Sizes take K M G T (powers of 1000) and Ki Mi Gi Ti (powers of 1024)";
  if (names.empty()) return others + ", durations s m h d.";
  return fmt::format(
      "In {} K M G T, also in small letters, and Ki Mi Gi Ti are powers of 1024, as in nccl-tests. Other "
      "counts "
      "take K M G T (powers of 1000) and Ki Mi Gi Ti (powers of 1024), durations s m h d.",
      names);
}

}  // namespace

std::string OptionTable::help(std::size_t width) const {
  const State& s = *state_;
  Page page(s.entries, width);
  page.add_wrapped(0, 2, fmt::format("{}: {}", s.tool, s.summary));
  page.add("\n");
  const std::string fallback = s.positional == nullptr ? "[options]" : "[options] " + s.positional_metavar;
  for (std::size_t i = 0; i < std::max<std::size_t>(s.usages.size(), 1); ++i) {
    const std::string start = fmt::format("{}{} ", i == 0 ? "usage: " : "       ", s.tool);
    page.add(start);
    page.add_wrapped(start.size(), std::min(start.size(), width / 3),
                     s.usages.empty() ? fallback : s.usages[i]);
  }
  if (s.positional != nullptr) {
    page.add("\n");
    page.add_row("  " + s.positional_metavar, s.positional_help);
  }
  const auto add_group = [&](const std::string& title, auto belongs) {
    if (std::none_of(s.entries.begin(), s.entries.end(), belongs)) return;
    page.add(fmt::format("\n{}:\n", title));
    for (const OptionEntry& entry : s.entries) {
      if (belongs(entry)) page.add_row(left_column(entry), right_column(entry));
    }
  };
  for (std::size_t group = 0; group <= s.groups.size(); ++group) {
    add_group(group == 0 ? "Options" : s.groups[group - 1],
              [group](const OptionEntry& entry) { return !entry.is_standard && entry.group == group; });
  }
  add_group("Common options", [](const OptionEntry& entry) { return entry.is_standard; });
  page.add("\n");
  page.add_wrapped(0, 0, sizes_text(s.entries));
  if (!s.examples.empty()) page.add("\nExamples:\n");
  for (const State::Example& example : s.examples) {
    page.add(fmt::format("  # {}\n", example.explanation));
    page.add("  " + example.command + "\n");
  }
  return page.take();
}

std::string OptionTable::version() const {
  return fmt::format("{} {}\n", state_->tool, DT_VERSION);
}

}  // namespace dt
