#include "base/text/utf8.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>
#include <string>

using namespace dt;

namespace {

std::optional<std::size_t> first_invalid(std::string_view text) {
  const auto found = find_invalid_utf8(text);
  CHECK(is_valid_utf8(text) == !found);
  return found;
}

}  // namespace

TEST_CASE("valid UTF-8 of every length is accepted") {
  CHECK_FALSE(first_invalid(""));
  CHECK_FALSE(first_invalid("plain ASCII that is longer than a word of eight bytes"));
  CHECK_FALSE(first_invalid("größer, 日本語, 😀, U+10FFFF \xF4\x8F\xBF\xBF"));
  CHECK_FALSE(first_invalid(std::string_view("a\0b", 3)));
}

TEST_CASE("the first invalid byte is found wherever it stands") {
  for (std::size_t offset = 0; offset < 40; ++offset) {
    std::string text(40, 'x');
    text[offset] = '\xFF';
    CHECK(first_invalid(text) == offset);
  }
  CHECK(first_invalid("ab\xC0\xAF") == 2);          // overlong
  CHECK(first_invalid("ab\xE0\x9F\xBF") == 2);      // overlong
  CHECK(first_invalid("ab\xF0\x8F\xBF\xBF") == 2);  // overlong
  CHECK(first_invalid("ab\xED\xA0\x80") == 2);      // a surrogate
  CHECK(first_invalid("ab\xF4\x90\x80\x80") == 2);  // beyond U+10FFFF
  CHECK(first_invalid("ab\xF5\x80\x80\x80") == 2);
  CHECK(first_invalid("ab\x80") == 2);      // a lone continuation byte
  CHECK(first_invalid("ab\xE6\x97") == 2);  // unfinished
  CHECK(first_invalid("\xE6\x97"
                      "a") == 0);
}

TEST_CASE("every code point is written and read back") {
  const auto is_kept = [](char32_t c) {
    const std::string character = to_utf8(c), text = character + "x";
    const bool is_surrogate = c >= 0xD800 && c < 0xE000;
    bool is_right = utf8_sequence_length(text) == (is_surrogate ? 0 : character.size()) &&
                    character_length(text) == character.size() && first_code_point(text) == c;
    for (std::size_t size = 0; size < character.size(); ++size)
      is_right = is_right && utf8_sequence_length(text.substr(0, size)) == 0;
    return is_right;
  };
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (!is_kept(c)) FAIL("U+" << std::hex << static_cast<std::uint32_t>(c));
  }
}

TEST_CASE("a character ends with its text, and a byte that begins none counts as one") {
  CHECK(character_length("\xF0\x9F") == 2);
  CHECK(character_length("\x80\x80") == 1);
}

TEST_CASE("characters are counted, however long the text") {
  CHECK(num_characters("") == 0);
  std::string text;
  for (std::size_t count = 0; count < 1000; ++count) {
    CHECK(num_characters(text) == count);
    text += std::array{"x", "ä", "日", "😀", "\x7F"}[count % 5];
  }
}

TEST_CASE("an unfinished character at the end is left to the next part") {
  const std::string text = "a\xC3\xA4\xE6\x97\xA5\xF0\x9F\x98\x80";  // ends after 1, 3, 6 and 10 bytes
  const std::size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
  for (std::size_t size = 0; size <= text.size(); ++size)
    CHECK(whole_characters(text.substr(0, size)) == expected[size]);
}

TEST_CASE("UTF-8 stays what it is, other bytes are escaped and read back") {
  for (const std::string text : {"", "runs/a b", "日本/é/😀", "a\\b\\\\x", "\\x4", "\\xab"}) {
    CHECK(escape_invalid_utf8(text) == text);
    CHECK(unescape_bytes(text) == text);
  }
  CHECK(escape_invalid_utf8("runs/\xE9t\xE9") == "runs/\\xE9t\\xE9");
  CHECK(escape_invalid_utf8("a\\xE9") == "a\\x5CxE9");              // a name may hold a backslash
  CHECK(escape_invalid_utf8("\xC0\x80") == "\\xC0\\x80");           // overlong
  CHECK(escape_invalid_utf8("\xED\xA0\x80") == "\\xED\\xA0\\x80");  // a surrogate
  CHECK(escape_invalid_utf8("\xE2\x82") == "\\xE2\\x82");           // unfinished
  CHECK(escape_invalid_utf8("\xF4\x90\x80\x80") == "\\xF4\\x90\\x80\\x80");
}

TEST_CASE("any bytes are read back") {
  std::uint64_t random = 1;
  const std::string alphabet = "\\x5CEF0a\xE9\xC3\xA9\x80\xF0\x9F\x98\xFF";
  for (int i = 0; i < 20000; ++i) {
    std::string bytes;
    for (int length = i % 12; length > 0; --length) {
      random = random * 6364136223846793005U + 1442695040888963407U;
      bytes += alphabet[(random >> 33) % alphabet.size()];
    }
    REQUIRE(unescape_bytes(escape_invalid_utf8(bytes)) == bytes);
  }
}
