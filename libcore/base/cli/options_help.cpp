// The text of --help, --help-all and --version.

#include <algorithm>

#include "base/cli/build_info.hpp"
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

/// Writes rows of two columns, broken into lines of at most `width` columns. The first column fits the
/// options that are shown.
class Page {
 public:
  Page(const std::vector<OptionEntry>& entries, std::size_t width, bool is_everyday)
      : width_(std::max(width, min_width)) {
    for (const OptionEntry& entry : entries) {
      if (is_everyday && !entry.is_everyday) continue;
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

void add_usage(Page& page, const OptionTable::State& s, std::size_t width) {
  page.add_wrapped(0, 2, fmt::format("{}: {}", s.tool, s.summary));
  page.add("\n");
  const std::string fallback = s.positional == nullptr ? "[options]" : "[options] " + s.positional_metavar;
  for (std::size_t i = 0; i < std::max<std::size_t>(s.usages.size(), 1); ++i) {
    const std::string start = fmt::format("{}{} ", i == 0 ? "usage: " : "       ", s.tool);
    page.add(start);
    page.add_wrapped(start.size(), std::min(start.size(), width / 3),
                     s.usages.empty() ? fallback : s.usages[i]);
  }
  if (!s.commands.empty()) page.add("\nCommands:\n");
  for (const OptionTable::State::Command& command : s.commands)
    page.add_row(fmt::format("  {} {}", command.name, command.arguments), command.summary);
}

/// Adds the options for which `belongs` holds, below a title if there are any.
template <class Belongs>
void add_group(Page& page, const OptionTable::State& s, const std::string& title, Belongs belongs) {
  if (std::none_of(s.entries.begin(), s.entries.end(), belongs)) return;
  page.add(fmt::format("\n{}:\n", title));
  for (const OptionEntry& entry : s.entries) {
    if (belongs(entry)) page.add_row(left_column(entry), right_column(entry));
  }
}

}  // namespace

std::string describe_units(const OptionTable::State& state) {
  std::string names;
  for (const OptionEntry& entry : state.entries) {
    if (entry.in_binary) names += (names.empty() ? "--" : ", --") + entry.name;
  }
  const std::string others = "Sizes take K M G T (powers of 1000) and Ki Mi Gi Ti (powers of 1024)";
  if (names.empty()) return others + ", durations s m h d.";
  return fmt::format(
      "In {} K M G T, also in small letters, and Ki Mi Gi Ti are powers of 1024, as in nccl-tests. Other "
      "counts take K M G T (powers of 1000) and Ki Mi Gi Ti (powers of 1024), durations s m h d.",
      names);
}

std::string OptionTable::help(std::size_t width) const {
  const State& s = *state_;
  if (std::ranges::none_of(s.entries, &OptionEntry::is_everyday)) return help_all(width);
  Page page(s.entries, width, true);
  add_usage(page, s, width);
  add_group(page, s, "Options that most people need", [](const OptionEntry& e) { return e.is_everyday; });
  page.add("\n");
  page.add_wrapped(0, 0,
                   fmt::format("{0} --help-all shows all {1} options and examples. man {0} explains them.",
                               s.tool, s.entries.size()));
  return page.take();
}

std::string OptionTable::help_all(std::size_t width) const {
  const State& s = *state_;
  Page page(s.entries, width, false);
  add_usage(page, s, width);
  if (s.positional != nullptr) {
    page.add("\n");
    page.add_row("  " + s.positional_metavar, s.positional_help);
  }
  for (std::size_t group = 0; group <= s.groups.size(); ++group) {
    add_group(page, s, group == 0 ? "Options" : s.groups[group - 1],
              [group](const OptionEntry& entry) { return !entry.is_standard && entry.group == group; });
  }
  add_group(page, s, "Common options", [](const OptionEntry& entry) { return entry.is_standard; });
  page.add("\n");
  page.add_wrapped(0, 0, describe_units(s));
  if (!s.examples.empty()) page.add("\nExamples:\n");
  for (const State::Example& example : s.examples) {
    page.add(fmt::format("  # {}\n", example.explanation));
    page.add("  " + example.command + "\n");
  }
  return page.take();
}

std::string OptionTable::version() const {
  return fmt::format("{} {}\n", state_->tool, dt_version());
}

}  // namespace dt
