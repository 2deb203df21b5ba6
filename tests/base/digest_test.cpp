#include "base/numeric/digest.hpp"

#include <catch2/catch.hpp>

#include "base/test_folder.hpp"

using namespace dt;

TEST_CASE("digests are XXH3-64") {
  CHECK(digest(std::string_view()) == 0x2D06800538D394C2);  // the reference implementation's value
  CHECK(digest("a") == 0xE6C632B61E964E1F);
  CHECK(digest("a") != digest("b"));
}

TEST_CASE("a seed changes the digest") {
  const std::string text = "dt";
  CHECK(digest(std::as_bytes(std::span(text)), 1) != digest(text));
}

TEST_CASE("bytes that arrive in parts have the digest of the whole") {
  std::string text(300'000, 'x');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i % 251);
  Digester parts;
  for (std::size_t begin = 0, part = 1; begin < text.size(); begin += part, part = part * 3 + 1) {
    parts.update(std::as_bytes(std::span(text)).subspan(begin, std::min(part, text.size() - begin)));
  }
  CHECK(parts.value() == digest(text));
  parts.reset();
  CHECK(parts.value() == digest(""));
}

TEST_CASE("a digest's text is 16 hexadecimal digits and reads back") {
  CHECK(to_hex(0x1F) == "000000000000001f");
  CHECK(from_hex("000000000000001f") == 0x1F);
  CHECK(from_hex(to_hex(UINT64_MAX)) == UINT64_MAX);
  for (const char* text :
       {"", "1f", "000000000000001g", "-00000000000001f", "0x0000000000001f", "00000000000000001f"}) {
    INFO(text);
    CHECK(dt_test::caught([&] { from_hex(text); }).kind == ErrorKind::input);
  }
}
