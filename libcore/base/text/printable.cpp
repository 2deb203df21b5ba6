#include "base/text/printable.hpp"

#include <algorithm>
#include <fmt/core.h>

#include "base/text/utf8.hpp"

namespace dt {

namespace {

bool is_control_or_bidi(char32_t c) {
  if (c < 0x20 || (c >= 0x7F && c < 0xA0)) return true;
  return c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069);
}

bool is_plain(char c) {
  return c >= 0x20 && c < 0x7F;
}

void append_printable(std::string& out, std::string_view text, bool in_line) {
  while (!text.empty()) {
    const auto plain = std::ranges::find_if_not(text, is_plain) - text.begin();
    out += text.substr(0, static_cast<std::size_t>(plain));
    text.remove_prefix(static_cast<std::size_t>(plain));
    if (text.empty()) return;
    const std::size_t length = utf8_sequence_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    text.remove_prefix(character.size());
    if (length == 0) {
      out += fmt::format("\\x{:02X}", static_cast<unsigned char>(character[0]));
    } else if (character == "\n" || character == "\t") {
      out += !in_line ? character : character == "\n" ? "\\n" : "\\t";
    } else if (const char32_t c = first_code_point(character); is_control_or_bidi(c)) {
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      out += character;
    }
  }
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  append_printable(out, text, false);
  return out;
}

std::string printable_line(std::string_view text, std::size_t max_bytes) {
  std::string out;
  if (text.size() <= max_bytes) {
    append_printable(out, text, true);
    return out;
  }
  // Cuts lie between characters if the text is UTF-8.
  std::size_t head = max_bytes / 4 * 3, tail = text.size() - max_bytes / 4;
  for (int i = 0; i < 3 && continues_character(text[head]); ++i) --head;
  for (int i = 0; i < 3 && continues_character(text[tail]); ++i) ++tail;
  append_printable(out, text.substr(0, head), true);
  out += fmt::format("… [{} bytes omitted] …", tail - head);
  append_printable(out, text.substr(tail), true);
  return out;
}

}  // namespace dt
