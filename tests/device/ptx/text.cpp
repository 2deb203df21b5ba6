#include "device/ptx/text.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dt::ptx {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(space);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(space) + 1 - begin);
}

std::string without_comments(const std::string& text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const bool is_line = text.compare(i, 2, "//") == 0, is_block = text.compare(i, 2, "/*") == 0;
    if (!is_line && !is_block) {
      if (text[i] != '\0') result += text[i];
      ++i;
      continue;
    }
    const std::size_t end = is_line ? text.find('\n', i) : text.find("*/", i);
    const std::size_t next = end == std::string::npos ? text.size() : end + (is_line ? 0 : 2);
    result.append(
        static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(i),
                                            text.begin() + static_cast<std::ptrdiff_t>(next), '\n')),
        '\n');
    i = next;
  }
  return result;
}

std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    const std::string_view part = trimmed(text.substr(begin, i - begin));
    if (!part.empty()) parts.push_back(part);
    begin = i + 1;
  }
  return parts;
}

std::size_t closing(std::string_view text, std::size_t open) {
  const char opens = text[open], closes = opens == '(' ? ')' : '}';
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == opens) ++depth;
    if (text[i] == closes && --depth == 0) return i;
  }
  DT_CHECK(false, "PTX: a '{}' is never closed", opens);
}

Declaration declaration(std::string_view text) {
  Declaration result{.name = {}, .alignment = 0, .bytes = 0};
  std::size_t element = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    begin = text.find_first_not_of(" \t\r\n", begin);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(text.find_first_of(" \t\r\n", begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    begin = end;
    if (word == ".align") {
      std::size_t after = 0;
      result.alignment = std::stoul(std::string(text.substr(begin)), &after);
      begin += after;
    } else if (word[0] != '.') {
      result.name = word;
    } else if (word.size() > 2 && std::string_view("bsuf").find(word[1]) != std::string_view::npos &&
               std::isdigit(static_cast<unsigned char>(word[2])) != 0) {
      element = std::stoul(std::string(word.substr(2))) / 8;
    }
  }
  std::size_t count = 1;
  if (const std::size_t bracket = result.name.find('['); bracket != std::string::npos) {
    const std::string inside = result.name.substr(bracket + 1, result.name.find(']') - bracket - 1);
    count = inside.empty() ? 0 : std::stoul(inside);
    result.name.resize(bracket);
  }
  if (result.alignment == 0) result.alignment = element;
  result.bytes = element * count;
  DT_CHECK(element > 0 && !result.name.empty(), "PTX: '{}' is no declaration that is known", text);
  return result;
}

}  // namespace dt::ptx
