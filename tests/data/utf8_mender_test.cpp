#include "data/input/utf8_mender.hpp"

#include <catch2/catch.hpp>

using namespace dt::data;

namespace {

/// Returns the text, mended `size` bytes at a time.
std::string mended(const std::string& text, InvalidUtf8 invalid, std::size_t size, std::uint64_t count) {
  Utf8Mender mender(invalid);
  std::string out;
  for (std::size_t begin = 0; begin < text.size(); begin += size)
    out += mender.mend(text.substr(begin, size), begin + size >= text.size());
  CHECK(mender.take_count() == count);
  CHECK(mender.take_count() == 0);
  return out;
}

void check(const std::string& text, const std::string& expected, std::uint64_t count) {
  std::string without;
  for (std::size_t begin = 0, end = 0; end != expected.npos; begin = end + 3) {
    end = expected.find("\xEF\xBF\xBD", begin);
    without += expected.substr(begin, end - begin);
  }
  for (std::size_t size = 1; size <= text.size(); ++size) {
    CHECK(mended(text, InvalidUtf8::replace, size, count) == expected);
    CHECK(mended(text, InvalidUtf8::skip, size, count) == without);
    CHECK(mended(text, InvalidUtf8::fail, size, 0) == text);
  }
}

}  // namespace

TEST_CASE("valid text passes unchanged, however it is cut") {
  check("größer, 日本語, 😀\n", "größer, 日本語, 😀\n", 0);
}

TEST_CASE("each maximal subpart of a character becomes one U+FFFD, or nothing") {
  // The cases are from the Unicode Standard, tables 3-8 to 3-11.
  check("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64", "a���b�c��d", 6);
  check("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", "��������A", 8);
  check("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41", "��������A", 8);
  check("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", "�����A��B", 7);
  check("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", "����A", 4);
}

TEST_CASE("what the text's end cuts off is one sequence") {
  check("x\xF0\x9F\x98", "x�", 1);
  check("x\xE6\x97", "x�", 1);
  check("\xC3", "�", 1);
}
