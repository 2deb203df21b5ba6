#pragma once
// Conversion of elements between types, one at a time or in blocks that share a scale.

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>

#include "base/numeric/dtype.hpp"

namespace dt {

/// The C++ type of a block of elements that share a scale. `widen` writes the values of all elements of the
/// block. `narrow` sets the elements and their scale.
template <class T>
concept ScaledBlock = requires(const T& source, T& target, const float* in, float* out) {
  { T::num_elements } -> std::convertible_to<std::int64_t>;
  source.widen(out);
  target.narrow(in);
};

/// The elements in a value of type T.
template <class T>
inline constexpr std::int64_t elements_in = 1;
template <ScaledBlock T>
inline constexpr std::int64_t elements_in<T> = T::num_elements;

/// Returns an fp32 that rounds to 16 bits as `value` itself does when rounded once. An inexact
/// value goes to the fp32 neighbour whose last bit is 1.
/// Source: Boldo & Melquiond 2008, "Emulation of FMA and correctly rounded sums", theorem 2.
inline float rounded_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value)) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(value)) --bits;  // towards zero
  return std::bit_cast<float>(bits | 1U);
}

/// Returns element i of memory that may be unaligned.
template <class T>
T load_element(const std::byte* source, std::int64_t i) {
  T value;
  std::memcpy(&value, source + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
  return value;
}
template <class T>
void store_element(const T& value, std::byte* target, std::int64_t i) {
  std::memcpy(target + static_cast<std::size_t>(i) * sizeof(T), &value, sizeof(T));
}

/// Returns `from` in type To, rounded once.
template <class To, class From>
To convert_element(From from) {
  const auto value = static_cast<ComputeType<From>>(from);
  if constexpr (is_narrow<To> && sizeof(value) == 8) {
    return To(rounded_to_odd(value));
  } else {
    return static_cast<To>(value);
  }
}

/// Writes `count` values, in blocks if T has them, from element i on.
template <class T>
void store_values(const float* values, std::int64_t count, std::byte* target, std::int64_t i) {
  for (std::int64_t at = 0; at < count; at += elements_in<T>) {
    T stored;
    if constexpr (ScaledBlock<T>) {
      stored.narrow(values + at);
    } else {
      stored = convert_element<T>(values[at]);
    }
    store_element(stored, target, (i + at) / elements_in<T>);
  }
}
template <class T>
void load_values(const std::byte* source, std::int64_t i, std::int64_t count, float* values) {
  for (std::int64_t at = 0; at < count; at += elements_in<T>) {
    const T stored = load_element<T>(source, (i + at) / elements_in<T>);
    if constexpr (ScaledBlock<T>) {
      stored.widen(values + at);
    } else {
      values[at] = convert_element<float>(stored);
    }
  }
}

/// Converts `count` floats. Neither side need be aligned.
/// Numerics: rounds once, to nearest, ties to even; blocks are converted from and to fp32. A value that is
/// too large becomes infinite if the type has infinities.
/// Errors: internal if `count` is not a multiple of the elements in a block.
template <class From, class To>
void convert_elements(const std::byte* source, std::byte* target, std::int64_t count) {
  if constexpr (ScaledBlock<From> || ScaledBlock<To>) {
    constexpr std::int64_t step = std::lcm(elements_in<From>, elements_in<To>);
    DT_CHECK(count % step == 0, "{} elements do not fill whole blocks of {}", count, step);
    float values[step];
    for (std::int64_t i = 0; i < count; i += step) {
      load_values<From>(source, i, step, values);
      store_values<To>(values, step, target, i);
    }
  } else {
    for (std::int64_t i = 0; i < count; ++i)
      store_element(convert_element<To>(load_element<From>(source, i)), target, i);
  }
}

}  // namespace dt
