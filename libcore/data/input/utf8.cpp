#include "data/input/utf8.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <simdjson.h>
#include <utf8proc.h>

namespace dt::data {

namespace {

/// Returns how many bytes from `offset` on are ASCII, in steps of eight. The caller checks the last
/// few.
std::size_t ascii_run(std::string_view text, std::size_t offset) {
  const std::size_t begin = offset;
  std::uint64_t word = 0;
  for (; offset + sizeof(word) <= text.size(); offset += sizeof(word)) {
    std::memcpy(&word, text.data() + offset, sizeof(word));
    if ((word & 0x8080808080808080) != 0) break;
  }
  return offset - begin;
}

}  // namespace

bool is_valid_utf8(std::string_view text) {
  return simdjson::validate_utf8(text.data(), text.size());
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  std::size_t offset = 0;
  while (offset < text.size()) {
    if (bytes[offset] < 0x80) {
      offset += std::max<std::size_t>(1, ascii_run(text, offset));
      continue;
    }
    // Lengths beyond 4 make no difference. The bound keeps the library's signed length from
    // overflowing.
    const auto rest = static_cast<utf8proc_ssize_t>(std::min<std::size_t>(text.size() - offset, 4));
    utf8proc_int32_t code_point = 0;
    const utf8proc_ssize_t length = utf8proc_iterate(bytes + offset, rest, &code_point);
    if (length <= 0) return offset;
    offset += static_cast<std::size_t>(length);
  }
  return std::nullopt;
}

std::uint64_t num_characters(std::string_view text) {
  constexpr std::size_t block = 255;  // fits an 8-bit counter, so that a vector register counts many at once
  std::uint64_t count = 0;
  for (; !text.empty(); text.remove_prefix(std::min(block, text.size()))) {
    std::uint8_t in_block = 0;
    for (const char byte : text.substr(0, block)) in_block += static_cast<signed char>(byte) >= -64 ? 1 : 0;
    count += in_block;
  }
  return count;
}

std::size_t whole_characters(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;  // inside a character
    const std::size_t length = byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    return length > back ? text.size() - back : text.size();
  }
  return text.size();
}

}  // namespace dt::data
