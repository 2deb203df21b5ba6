#include "data/input/utf8_mender.hpp"

#include <string_view>
#include <utility>

#include "base/text/utf8.hpp"

namespace dt::data {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

struct Range {
  unsigned char first, last;
  bool has(unsigned char byte) const { return first <= byte && byte <= last; }
};

/// Returns the bytes that may follow a character's first byte.
/// Source: The Unicode Standard, table 3-7.
Range second_bytes(unsigned char first) {
  switch (first) {
    case 0xE0:
      return {0xA0, 0xBF};
    case 0xED:
      return {0x80, 0x9F};
    case 0xF0:
      return {0x90, 0xBF};
    case 0xF4:
      return {0x80, 0x8F};
    default:
      return {0x80, 0xBF};
  }
}

/// Returns the length of the invalid sequence at the start of `text`.
std::size_t invalid_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0xC2 || byte(0) > 0xF4) return 1;
  if (text.size() < 2 || !second_bytes(byte(0)).has(byte(1))) return 1;
  const bool has_third = byte(0) >= 0xF0 && text.size() >= 3 && Range{0x80, 0xBF}.has(byte(2));
  return has_third ? 3 : 2;
}

}  // namespace

std::string Utf8Mender::mend(std::string bytes, bool ends_text) {
  if (invalid_ == InvalidUtf8::fail) return bytes;
  if (!rest_.empty()) bytes.insert(0, std::exchange(rest_, {}));
  if (!ends_text) {
    const std::size_t whole = whole_characters(bytes);
    rest_ = bytes.substr(whole);
    bytes.resize(whole);
  }
  std::string_view left = bytes;
  std::string mended;
  while (const auto invalid = find_invalid_utf8(left)) {
    mended += left.substr(0, *invalid);
    if (invalid_ == InvalidUtf8::replace) mended += replacement;
    left.remove_prefix(*invalid);
    left.remove_prefix(invalid_length(left));
    ++count_;
  }
  if (left.size() == bytes.size()) return bytes;
  return mended.append(left);
}

std::uint64_t Utf8Mender::take_count() {
  return std::exchange(count_, 0);
}

}  // namespace dt::data
