#pragma once
// Element types of tensors and of datasets in files. They lie in base, below tensor, because file
// formats name them.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dt {

enum class DType : std::uint8_t { f64, f32, bf16, f16, i64, i32, u64, u32, u16, u8 };

std::size_t dtype_bytes(DType dtype);
/// Returns "f64", "f32", "bf16", ...: the names in manifests and in dt's options.
std::string_view dtype_name(DType dtype);
/// Returns the type of statistics, sums and losses that accompany elements of `dtype`: f64 for f64,
/// else f32.
constexpr DType statistics_dtype(DType dtype) {
  return dtype == DType::f64 ? DType::f64 : DType::f32;
}
/// Returns the type with this name.
/// Errors: input if the name is unknown.
DType parse_dtype(std::string_view name);

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

}  // namespace dt
