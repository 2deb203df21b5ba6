#pragma once
// Element types of tensors and of datasets in files, and conversion of their 16-bit floats. They lie
// in base, below tensor, because file formats name them.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/text/enum_names.hpp"

namespace dt {

enum class DType : std::uint8_t { f64, f32, bf16, f16, i64, i32, u64, u32, u16, u8 };

std::size_t dtype_bytes(DType dtype);
/// Returns "f64", "f32", "bf16", ...: the names in manifests and messages.
std::string_view dtype_name(DType dtype);
/// Returns the type of statistics, sums and losses that accompany elements of `dtype`: f64 for f64,
/// else f32.
constexpr DType statistics_dtype(DType dtype) {
  return dtype == DType::f64 ? DType::f64 : DType::f32;
}
/// Returns the type with this name.
/// Errors: input if the name is unknown.
DType parse_dtype(std::string_view name);

/// The names of element types in --precision and similar options.
constexpr auto precision_names = std::to_array<EnumName<DType>>(
    {{"fp32", DType::f32}, {"bf16", DType::bf16}, {"fp16", DType::f16}, {"fp64", DType::f64}});
/// Returns the type's name in options, or "" if it has none there.
constexpr std::string_view precision_name(DType dtype) {
  return name_in(precision_names, dtype);
}

template <class T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<double>() {
  return DType::f64;
}
template <>
constexpr DType dtype_of<float>() {
  return DType::f32;
}
template <>
constexpr DType dtype_of<std::int64_t>() {
  return DType::i64;
}
template <>
constexpr DType dtype_of<std::int32_t>() {
  return DType::i32;
}
template <>
constexpr DType dtype_of<std::uint64_t>() {
  return DType::u64;
}
template <>
constexpr DType dtype_of<std::uint32_t>() {
  return DType::u32;
}
template <>
constexpr DType dtype_of<std::uint16_t>() {
  return DType::u16;
}
template <>
constexpr DType dtype_of<std::uint8_t>() {
  return DType::u8;
}

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
  constexpr explicit BFloat16(float value) : bits(f32_to_bf16(value)) {}
  constexpr explicit operator float() const { return bf16_to_f32(bits); }
};
/// An element of an f16 tensor (IEEE 754 binary16). It is a storage type; arithmetic is in fp32.
struct Float16 {
  std::uint16_t bits;
  Float16() = default;
  constexpr explicit Float16(float value) : bits(f32_to_f16(value)) {}
  constexpr explicit operator float() const { return f16_to_f32(bits); }
};

template <>
constexpr DType dtype_of<BFloat16>() {
  return DType::bf16;
}
template <>
constexpr DType dtype_of<Float16>() {
  return DType::f16;
}

}  // namespace dt
