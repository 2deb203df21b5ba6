#include "checkpoint/elements.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.hpp"
#include "base/numeric/half.hpp"

namespace dt::checkpoint {

namespace {

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

/// Returns the value in the type used for computing: its own, or fp32 for 16-bit types.
template <class T>
auto widened(T value) {
  if constexpr (sizeof(T) == 2) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

/// Returns an fp32 that rounds to 16 bits as `value` itself does when rounded once. An inexact
/// value goes to the fp32 neighbour whose last bit is 1.
/// Source: Boldo & Melquiond 2008, "Emulation of FMA and correctly rounded sums", theorem 2.
float rounded_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value)) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(value)) --bits;  // towards zero
  return std::bit_cast<float>(bits | 1U);
}

template <class To, class Value>
To narrowed(Value value) {
  if constexpr (sizeof(To) == 2 && sizeof(Value) == 8) {
    return To(rounded_to_odd(value));
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To>
void convert(const std::byte* source, std::byte* target, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const To value = narrowed<To>(widened(load<From>(source + at * sizeof(From))));
    std::memcpy(target + at * sizeof(To), &value, sizeof(To));
  }
}

template <class From>
void convert_from(const std::byte* source, DType to, std::byte* target, std::int64_t count) {
  switch (to) {
    case DType::f64:
      return convert<From, double>(source, target, count);
    case DType::f32:
      return convert<From, float>(source, target, count);
    case DType::bf16:
      return convert<From, BFloat16>(source, target, count);
    default:
      return convert<From, Float16>(source, target, count);
  }
}

bool is_float(DType dtype) {
  return dtype == DType::f64 || dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16;
}

}  // namespace

bool is_convertible(DType from, DType to) {
  return from == to || (is_float(from) && is_float(to));
}

void copy_elements(DType from, const std::byte* source, DType to, std::byte* target, std::int64_t count) {
  DT_CHECK(is_convertible(from, to), "{} elements are read as {}", dtype_name(from), dtype_name(to));
  if (count == 0) return;
  if (from == to) {
    std::memcpy(target, source, static_cast<std::size_t>(count) * dtype_bytes(from));
    return;
  }
  switch (from) {
    case DType::f64:
      return convert_from<double>(source, to, target, count);
    case DType::f32:
      return convert_from<float>(source, to, target, count);
    case DType::bf16:
      return convert_from<BFloat16>(source, to, target, count);
    default:
      return convert_from<Float16>(source, to, target, count);
  }
}

}  // namespace dt::checkpoint
