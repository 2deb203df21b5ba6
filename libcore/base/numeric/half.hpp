#pragma once
// 16-bit floats: how they are stored, and their conversion from and to fp32.

#include <bit>
#include <cstdint>

namespace dt {

/// Returns the value of a bf16 number. This conversion and the next three have no branches, so that
/// loops over them vectorize.
constexpr float bf16_to_f32(std::uint16_t half) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}

/// Numerics: rounds to nearest, ties to even. A NaN stays a NaN.
constexpr std::uint16_t f32_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const std::uint32_t quiet_nan = (bits >> 16) | 0x40U;
  return static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? quiet_nan : rounded);
}

constexpr float f16_to_f32(std::uint16_t half) {
  constexpr std::uint32_t rebias = (127U - 15U) << 23;
  const std::uint32_t magnitude = (half & 0x7fffU) << 13;
  const std::uint32_t exponent = magnitude & (31U << 23);
  const std::uint32_t normal = magnitude + rebias;
  const std::uint32_t infinite_or_nan = normal + rebias;
  // A subnormal's mantissa is placed behind a leading 1 of known weight, which is then subtracted.
  const auto subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(normal + (1U << 23)) -
                                                      std::bit_cast<float>(rebias + (1U << 23)));
  const std::uint32_t small_or_normal = exponent == 0 ? subnormal : normal;
  const std::uint32_t bits = exponent == (31U << 23) ? infinite_or_nan : small_or_normal;
  return std::bit_cast<float>(bits | (static_cast<std::uint32_t>(half & 0x8000U) << 16));
}

/// Numerics: rounds to nearest, ties to even. A value too large becomes infinite. A NaN stays a
/// NaN.
constexpr std::uint16_t f32_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  // Adding this aligns a subnormal half's last bit with the last bit of an fp32, so that the
  // addition rounds.
  constexpr std::uint32_t aligner = (127U - 15U + 23U - 10U + 1U) << 23;
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(aligner)) - aligner;
  const std::uint32_t odd = (magnitude >> 13) & 1U;
  const std::uint32_t normal = (magnitude - ((127U - 15U) << 23) + 0xfffU + odd) >> 13;
  const std::uint32_t finite = magnitude < (113U << 23) ? subnormal : normal;
  const std::uint32_t infinite_or_nan = magnitude > 0x7f800000U ? 0x7e00U : 0x7c00U;
  const std::uint32_t result = magnitude >= ((127U + 16U) << 23) ? infinite_or_nan : finite;
  return static_cast<std::uint16_t>(result | ((bits & 0x80000000U) >> 16));
}

/// An element of a bf16 tensor. It is a storage type; arithmetic is in fp32.
struct BFloat16 {
  std::uint16_t bits;
  BFloat16() = default;
  constexpr explicit BFloat16(float value) : bits(narrow(value)) {}
  constexpr explicit operator float() const { return widen(bits); }
  static constexpr std::uint16_t narrow(float value) { return f32_to_bf16(value); }
  static constexpr float widen(std::uint16_t bits) { return bf16_to_f32(bits); }
};
/// An element of an f16 tensor (IEEE 754 binary16). It is a storage type; arithmetic is in fp32.
struct Float16 {
  std::uint16_t bits;
  Float16() = default;
  constexpr explicit Float16(float value) : bits(narrow(value)) {}
  constexpr explicit operator float() const { return widen(bits); }
  static constexpr std::uint16_t narrow(float value) { return f32_to_f16(value); }
  static constexpr float widen(std::uint16_t bits) { return f16_to_f32(bits); }
};

}  // namespace dt
