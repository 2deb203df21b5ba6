#include "base/text/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/core.h>
#include <fmt/format.h>
#include <optional>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "base/text/utf8.hpp"

namespace dt {

namespace {

std::optional<std::int64_t> count_unit(std::string_view suffix) {
  constexpr std::string_view letters = "KMGT";
  if (suffix.empty()) return 1;
  const std::size_t power = letters.find(suffix[0]);
  if (power == std::string_view::npos || suffix.size() > 2 || (suffix.size() == 2 && suffix[1] != 'i')) {
    return std::nullopt;
  }
  std::int64_t unit = 1;
  for (std::size_t i = 0; i <= power; ++i) unit *= suffix.size() == 2 ? 1024 : 1000;
  return unit;
}

std::optional<double> duration_unit(std::string_view suffix) {
  if (suffix.empty() || suffix == "s") return 1;
  if (suffix == "m") return 60;
  if (suffix == "h") return 3600;
  if (suffix == "d") return 86400;
  return std::nullopt;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_numeric_column(const std::vector<std::vector<std::string>>& rows, std::size_t column) {
  return std::all_of(rows.begin() + 1, rows.end(), [&](const std::vector<std::string>& row) {
    return column >= row.size() ||
           (!row[column].empty() && (is_digit(row[column][0]) || row[column][0] == '-'));
  });
}

void append_cell(std::string& line, const std::string& cell, std::size_t width, bool right) {
  const std::string padding(width - std::min(width, display_width(cell)), ' ');
  line += right ? padding + cell : cell + padding;
}

}  // namespace

std::int64_t parse_count(std::string_view text) {
  const Error error(
      ErrorKind::usage, fmt::format("'{}' is not a count", text),
      "expected a whole number, with K, M, G, T for powers of 1000 or Ki, Mi, Gi, Ti for powers of 1024");
  std::int64_t number = 0;
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc()) throw error;
  const auto unit = count_unit(text.substr(static_cast<std::size_t>(rest - text.data())));
  std::int64_t product = 0;
  if (!unit || __builtin_mul_overflow(number, *unit, &product)) throw error;
  return product;
}

double parse_duration(std::string_view text) {
  const Error error(ErrorKind::usage, fmt::format("'{}' is not a duration", text),
                    "expected a number of seconds, or one with s, m, h or d, such as 90, 5m, 1.5h, 1d");
  double number = 0;
  if (text.empty() || !is_digit(text[0])) throw error;
  const auto [rest, code] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (code != std::errc()) throw error;
  const auto unit = duration_unit(text.substr(static_cast<std::size_t>(rest - text.data())));
  if (!unit || !std::isfinite(number * *unit)) throw error;
  return number * *unit;
}

std::string format_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr std::array units = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  // 1023.95 would print as 1024.0.
  while (value >= 1023.95 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string format_count(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

std::string format_duration(double seconds) {
  if (!(seconds >= 0) || seconds > 1e12) return "unknown";
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::size_t line_at(std::string_view text, std::size_t offset) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text.size()));
  return 1 + static_cast<std::size_t>(std::count(text.begin(), end, '\n'));
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n\f\v";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::size_t display_width(std::string_view text) {
  return num_characters(text);
}

std::string format_table(const std::vector<std::vector<std::string>>& given) {
  constexpr std::size_t max_width = 512;  // longer cells shift the rest of their own row only
  auto rows = given;
  for (auto& row : rows) {
    for (std::string& cell : row) cell = printable_line(cell);
  }
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    if (row.size() > widths.size()) widths.resize(row.size());
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::clamp(display_width(row[c]), widths[c], max_width);
  }
  std::vector<bool> numeric(widths.size());
  for (std::size_t c = 0; c < widths.size(); ++c) numeric[c] = rows.size() > 1 && is_numeric_column(rows, c);
  std::string table;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c > 0) line += "  ";
      append_cell(line, row[c], widths[c], numeric[c]);
    }
    table += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return table;
}

}  // namespace dt
