#include "data/input/utf8.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <optional>
#include <string>

using dt::data::is_valid_utf8;
using dt::data::num_characters;
using dt::data::whole_characters;

namespace {

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  const auto found = dt::data::find_invalid_utf8(text);
  CHECK(is_valid_utf8(text) == !found);
  return found;
}

}  // namespace

TEST_CASE("valid UTF-8 of every length is accepted") {
  CHECK_FALSE(find_invalid_utf8(""));
  CHECK_FALSE(find_invalid_utf8("plain ASCII that is longer than a word of eight bytes"));
  CHECK_FALSE(find_invalid_utf8("größer, 日本語, 😀, U+10FFFF \xF4\x8F\xBF\xBF"));
  CHECK_FALSE(find_invalid_utf8(std::string_view("a\0b", 3)));
}

TEST_CASE("the first invalid byte is found wherever it stands") {
  for (std::size_t offset = 0; offset < 40; ++offset) {
    std::string text(40, 'x');
    text[offset] = '\xFF';
    CHECK(find_invalid_utf8(text) == offset);
  }
  CHECK(find_invalid_utf8("ab\xC0\xAF") == 2);          // overlong
  CHECK(find_invalid_utf8("ab\xED\xA0\x80") == 2);      // a surrogate
  CHECK(find_invalid_utf8("ab\xF4\x90\x80\x80") == 2);  // beyond U+10FFFF
  CHECK(find_invalid_utf8("ab\x80") == 2);              // a lone continuation byte
  CHECK(find_invalid_utf8("ab\xE6\x97") == 2);          // unfinished
  CHECK(find_invalid_utf8("\xE6\x97"
                          "a") == 0);
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
