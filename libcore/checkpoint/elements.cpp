#include "checkpoint/elements.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.hpp"

namespace dt::checkpoint {

namespace {

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

double from_f64(const std::byte* at) {
  return load<double>(at);
}
double from_f32(const std::byte* at) {
  return load<float>(at);
}
double from_bf16(const std::byte* at) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(load<std::uint16_t>(at)) << 16);
}

/// IEEE binary16: 1 sign, 5 exponent (bias 15), 10 mantissa bits.
double from_f16(const std::byte* at) {
  const auto bits = load<std::uint16_t>(at);
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  const double sign = bits >> 15 == 0 ? 1 : -1;
  if (exponent == 31) return sign * (mantissa == 0 ? HUGE_VAL : std::nan(""));
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(mantissa + 1024, exponent - 25);
}

template <class T, double (*Value)(const std::byte*)>
void convert(const std::byte* source, std::size_t source_bytes, std::byte* target, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const T value = static_cast<T>(Value(source + static_cast<std::size_t>(i) * source_bytes));
    std::memcpy(target + static_cast<std::size_t>(i) * sizeof(T), &value, sizeof(T));
  }
}

template <class T>
void convert_to(DType from, const std::byte* source, std::byte* target, std::int64_t count) {
  switch (from) {
    case DType::f64:
      return convert<T, from_f64>(source, 8, target, count);
    case DType::f32:
      return convert<T, from_f32>(source, 4, target, count);
    case DType::bf16:
      return convert<T, from_bf16>(source, 2, target, count);
    default:
      return convert<T, from_f16>(source, 2, target, count);
  }
}

bool is_float(DType dtype) {
  return dtype == DType::f64 || dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16;
}

}  // namespace

bool converts(DType from, DType to) {
  return from == to || (is_float(from) && (to == DType::f32 || to == DType::f64));
}

void copy_elements(DType from, const std::byte* source, DType to, std::byte* target, std::int64_t count) {
  DT_CHECK(converts(from, to), "{} elements are read as {}", dtype_name(from), dtype_name(to));
  if (count == 0) return;
  if (from == to) {
    std::memcpy(target, source, static_cast<std::size_t>(count) * dtype_bytes(from));
  } else if (to == DType::f32) {
    convert_to<float>(from, source, target, count);
  } else {
    convert_to<double>(from, source, target, count);
  }
}

}  // namespace dt::checkpoint
