// The text of --help and --version.

#include <algorithm>

#include "base/options_state.hpp"
#include "base/text.hpp"

namespace dt {

namespace {

constexpr std::size_t max_width = 100;
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

/// Appends words, breaking lines before max_width; lines after the first are indented.
void append_wrapped(std::string& out, std::size_t column, std::size_t indent, const std::string& text) {
  bool first = true;
  for (const std::string& word : split(text, ' ')) {
    const std::size_t width = display_width(word);
    if (!first && column + 1 + width > max_width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
      first = true;
    }
    out += first ? word : " " + word;
    column += width + (first ? 0 : 1);
    first = false;
  }
  out += "\n";
}

void append_row(std::string& out, const std::string& left, const std::string& right, std::size_t indent) {
  const std::size_t width = display_width(left);
  out += left;
  if (width + 2 > indent) {
    out += "\n" + std::string(indent, ' ');
  } else {
    out += std::string(indent - width, ' ');
  }
  append_wrapped(out, indent, indent, right);
}

std::size_t name_column(const std::vector<OptionEntry>& entries) {
  std::size_t widest = 0;
  for (const OptionEntry& entry : entries) {
    const std::size_t width = display_width(left_column(entry)) + 2;
    if (width <= max_name_column) widest = std::max(widest, width);
  }
  return widest;
}

}  // namespace

std::string OptionTable::help() const {
  const State& s = *state_;
  const std::size_t indent = name_column(s.entries);
  std::string out;
  append_wrapped(out, 0, 2, fmt::format("{}: {}", s.tool, s.summary));
  out += "\n";
  const std::string fallback = s.positional == nullptr ? "[options]" : "[options] " + s.positional_metavar;
  for (std::size_t i = 0; i < std::max<std::size_t>(s.usages.size(), 1); ++i) {
    const std::string start = fmt::format("{}{} ", i == 0 ? "usage: " : "       ", s.tool);
    out += start;
    append_wrapped(out, start.size(), start.size(), s.usages.empty() ? fallback : s.usages[i]);
  }
  if (s.positional != nullptr) {
    out += "\n";
    append_row(out, "  " + s.positional_metavar, s.positional_help, indent);
  }
  const auto append_group = [&](const std::string& title, auto belongs) {
    if (std::none_of(s.entries.begin(), s.entries.end(), belongs)) return;
    out += fmt::format("\n{}:\n", title);
    for (const OptionEntry& entry : s.entries) {
      if (belongs(entry)) append_row(out, left_column(entry), right_column(entry), indent);
    }
  };
  for (std::size_t group = 0; group <= s.groups.size(); ++group) {
    append_group(group == 0 ? "Options" : s.groups[group - 1],
                 [group](const OptionEntry& entry) { return !entry.is_standard && entry.group == group; });
  }
  append_group("Common options", [](const OptionEntry& entry) { return entry.is_standard; });
  out += "\nSizes take K M G T (powers of 1000) and Ki Mi Gi Ti (powers of 1024), durations s m h d.\n";
  if (!s.examples.empty()) out += "\nExamples:\n";
  for (const State::Example& example : s.examples) {
    out += fmt::format("  # {}\n  {}\n", example.explanation, example.command);
  }
  return out;
}

std::string OptionTable::version() const {
  return fmt::format("{} {}\n", state_->tool, DT_VERSION);
}

}  // namespace dt
