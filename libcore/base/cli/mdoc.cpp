#include "base/cli/mdoc.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

#include "base/cli/build_info.hpp"
#include "base/error.hpp"
#include "base/text/text.hpp"

namespace dt {

namespace {

/// Returns the code point that begins at `at`, and moves `at` behind it. The text is valid UTF-8.
std::uint32_t take_code_point(std::string_view text, std::size_t& at) {
  const auto byte = [&] { return static_cast<unsigned char>(text[at]); };
  const std::uint32_t first = byte();
  ++at;
  if (first < 0x80) return first;
  std::uint32_t code = first >= 0xF0 ? first & 0x07 : first >= 0xE0 ? first & 0x0F : first & 0x1F;
  for (; at < text.size() && (byte() & 0xC0) == 0x80; ++at) code = code << 6 | (byte() & 0x3F);
  return code;
}

std::string escaped(std::uint32_t code) {
  switch (code) {
    case '\\':
      return "\\e";
    case '-':
      return "\\-";  // a hyphen would not be found by a search for an option
    case '\'':
      return "\\(aq";
    case '`':
      return "\\(ga";
    case '^':
      return "\\(ha";
    case '~':
      return "\\(ti";
    default:
      break;
  }
  return code < 0x80 ? std::string(1, static_cast<char>(code)) : fmt::format("\\[u{:04X}]", code);
}

bool is_option(std::string_view word) {
  return word.size() > 2 && word.starts_with("--") && std::islower(static_cast<unsigned char>(word[2])) != 0;
}

/// Returns a word, the option that it begins with in bold.
std::string word_text(std::string_view word) {
  const std::size_t begin = word.find_first_not_of("(\"'[");
  if (begin == std::string_view::npos || !is_option(word.substr(begin))) return mdoc_text(word);
  const auto is_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-'; };
  const std::size_t end =
      std::find_if_not(word.begin() + static_cast<std::ptrdiff_t>(begin), word.end(), is_name) - word.begin();
  return mdoc_text(word.substr(0, begin)) + "\\fB" + mdoc_text(word.substr(begin, end - begin)) + "\\fP" +
         mdoc_text(word.substr(end));
}

/// Returns a line that is no macro, whatever it begins with.
std::string plain_line(std::string line) {
  return line.starts_with('.') || line.starts_with('\'') ? "\\&" + line : line;
}

/// Returns whether the next word begins a sentence after `word`.
bool ends_sentence(std::string_view word, std::string_view next) {
  while (!word.empty() && (word.back() == ')' || word.back() == '"')) word.remove_suffix(1);
  const auto first = next.find_first_not_of("(\"");
  return word.ends_with('.') && first != std::string_view::npos &&
         std::isupper(static_cast<unsigned char>(next[first])) != 0;
}

/// Returns running text in lines of at most some 80 columns, a new line for each sentence.
std::string running_text(const std::string& paragraph) {
  constexpr std::size_t width = 78;
  std::string text, line;
  std::string_view last;
  const std::vector<std::string> words = [&] {
    std::vector<std::string> found = split(paragraph, ' ');
    std::erase(found, "");
    return found;
  }();
  for (const std::string& word : words) {
    const std::string shown = word_text(word);
    if (!line.empty() && (line.size() + 1 + shown.size() > width || ends_sentence(last, word))) {
      text += plain_line(line) + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + shown;
    last = word;
  }
  return line.empty() ? text : text + plain_line(line) + "\n";
}

}  // namespace

std::string mdoc_text(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) out += escaped(take_code_point(text, at));
  return out;
}

std::string mdoc_argument(std::string_view text) {
  std::string out;
  for (const char c : mdoc_text(text)) out += c == '"' ? "\\(dq" : std::string(1, c);
  return fmt::format("\"\\&{}\"", out);
}

std::string mdoc_literal(const std::string& lines) {
  std::string out = ".Bd -literal -offset indent\n";
  for (const std::string& line : split(lines, '\n')) out += plain_line(mdoc_text(line)) + "\n";
  return out + ".Ed\n";
}

std::string mdoc_paragraphs(const std::string& text) {
  std::string out, running, literal;
  bool is_first = true;
  const auto end_literal = [&] {
    if (!literal.empty()) out += mdoc_literal(literal);
    literal.clear();
  };
  const auto end_running = [&] {
    if (running.empty()) return;
    out += (is_first ? "" : ".Pp\n") + running_text(running);
    is_first = false;
    running.clear();
  };
  for (const std::string& line : split(text, '\n')) {
    if (line.starts_with("  ")) {
      end_running();
      literal += (literal.empty() ? "" : "\n") + line.substr(2);
      is_first = false;
      continue;
    }
    end_literal();
    if (line.empty()) end_running();
    running += (running.empty() ? "" : " ") + line;
  }
  end_running();
  end_literal();
  return out;
}

std::string mdoc_entries(const std::vector<ManualEntry>& entries, const std::string& macro) {
  if (entries.empty()) return "";
  std::string out = ".Bl -tag -width Ds\n";
  for (const ManualEntry& entry : entries)
    out += fmt::format(".It {}{}\n{}", macro, mdoc_argument(entry.name), mdoc_paragraphs(entry.text));
  return out + ".El\n";
}

std::string mdoc_head(const std::string& name, int section, const std::string& summary,
                      const std::string& date) {
  std::string title = name;
  for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string what = summary;
  while (what.ends_with('.')) what.pop_back();
  return fmt::format(".Dd {}\n.Dt {} {}\n.Os dt {}\n.Sh NAME\n.Nm {}\n.Nd {}\n", date, title, section,
                     dt_version(), name, mdoc_text(what));
}

}  // namespace dt
