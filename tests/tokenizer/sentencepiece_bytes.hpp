#pragma once
// Writes SentencePiece models by hand.

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace dt_test {

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes += static_cast<char>(value);
}

inline std::string proto_integer(std::uint64_t field, std::uint64_t value) {
  return varint(field << 3) + varint(value);
}

inline std::string proto_bytes(std::uint64_t field, std::string_view bytes) {
  return varint(field << 3 | 2) + varint(bytes.size()).append(bytes);
}

inline std::string little_endian(std::uint32_t value) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> 8 * i);
  return bytes;
}

inline std::string proto_float(std::uint64_t field, float value) {
  return varint(field << 3 | 5) + little_endian(std::bit_cast<std::uint32_t>(value));
}

/// Returns a piece. Types: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte.
inline std::string piece(const std::string& text, float score = 0, std::uint64_t type = 1) {
  return proto_bytes(1, proto_bytes(1, text) + proto_float(2, score) + proto_integer(3, type));
}

/// Returns the trainer's part; model type 2 is a byte-pair encoding.
inline std::string trainer(std::uint64_t model_type = 2, const std::string& more = {}) {
  return proto_bytes(2, proto_integer(3, model_type) + more);
}

/// Returns the normaliser's part.
inline std::string normalizer(bool adds_prefix, bool removes_spaces, const std::string& charsmap = {}) {
  return proto_bytes(3, proto_bytes(2, charsmap) + proto_integer(3, adds_prefix ? 1 : 0) +
                            proto_integer(4, removes_spaces ? 1 : 0));
}

/// Returns a charsmap of one rule: the byte `from`, not zero, becomes `to`. The root's children lie
/// from unit 256 on, and the continuation of `from` from unit 512 on.
inline std::string charsmap(unsigned char from, const std::string& to) {
  std::string units;
  for (std::uint32_t unit = 0; unit < 768; ++unit) {
    std::uint32_t value = 0;
    if (unit == 0) value = 256U << 10;
    if (unit == (256U ^ from)) value = (unit ^ 512U) << 10 | 1U << 8 | from;
    if (unit == 512) value = 1U << 31;  // a value: offset of the first text
    units += little_endian(value);
  }
  return little_endian(static_cast<std::uint32_t>(units.size())) + units + to + '\0';
}

}  // namespace dt_test
