#include <catch2/catch.hpp>
#include <cstdint>
#include <string>

#include "base/text/utf8.hpp"

using namespace dt;

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
