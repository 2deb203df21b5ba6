#pragma once
// Inputs that every rank can compute for all ranks, and their combined values, by plain loops.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/numeric/dtype.hpp"
#include "comm/core/reduction.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm::test {

enum class Values { small_integers, wild };

inline std::uint64_t hash(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// Ranks' values repeat after this many elements and need not be computed more often. It is a prime, so
/// that it meets every boundary differently.
inline constexpr std::int64_t period = 4099;

/// Returns the bits of element `index` of rank `rank`'s values.
inline std::uint64_t random_bits(int rank, std::int64_t index) {
  return hash(hash(static_cast<std::uint64_t>(rank) + 1) + static_cast<std::uint64_t>(index % period));
}

/// Returns make(i) for all i below numel; make repeats itself after a period.
template <class Make>
auto repeated(std::int64_t numel, const Make& make) {
  std::vector<decltype(make(std::int64_t{0}))> values(static_cast<std::size_t>(numel));
  for (std::int64_t i = 0; i < std::min(numel, period); ++i) values[static_cast<std::size_t>(i)] = make(i);
  for (std::int64_t i = period; i < numel; i += period)
    std::copy_n(values.begin(), std::min(period, numel - i), values.begin() + i);
  return values;
}

/// Returns a float of 30 binary orders of magnitude (16-bit floats: 10) and either sign, so that every
/// order of adding rounds differently; or any integer.
template <class T>
T wild_value(std::uint64_t bits) {
  if constexpr (std::is_floating_point_v<T>) {
    const std::uint64_t exponent = 1023 - 16 + (bits >> 1 & 31);
    return static_cast<T>(std::bit_cast<double>((~bits & 1) << 63 | exponent << 52 | bits >> 12));
  } else {
    return static_cast<T>(bits);
  }
}

/// The types in which a dtype's elements are stored and combined.
template <DType>
struct Element;
template <class T>
struct PlainElement {
  using Stored = T;
  using Value = T;
  static Value load(Stored stored) { return stored; }
  static Stored store(Value value) { return value; }
};
template <>
struct Element<DType::f64> : PlainElement<double> {};
template <>
struct Element<DType::f32> : PlainElement<float> {};
template <>
struct Element<DType::i64> : PlainElement<std::int64_t> {};
template <>
struct Element<DType::i32> : PlainElement<std::int32_t> {};
template <>
struct Element<DType::u64> : PlainElement<std::uint64_t> {};
template <>
struct Element<DType::u32> : PlainElement<std::uint32_t> {};
template <>
struct Element<DType::bf16> {
  using Stored = std::uint16_t;
  using Value = float;
  static Value load(Stored stored) { return bf16_to_f32(stored); }
  static Stored store(Value value) { return f32_to_bf16(value); }
};
template <>
struct Element<DType::f16> {
  using Stored = std::uint16_t;
  using Value = float;
  static Value load(Stored stored) { return f16_to_f32(stored); }
  static Stored store(Value value) { return f32_to_f16(value); }
};

template <DType dtype>
typename Element<dtype>::Stored sample(Values values, int rank, std::int64_t index) {
  using Value = typename Element<dtype>::Value;
  const std::uint64_t bits = random_bits(rank, index);
  if (values == Values::small_integers) return Element<dtype>::store(static_cast<Value>(bits % 4 + 1));
  return Element<dtype>::store(wild_value<Value>(bits));
}

template <class T>
T combine_two(Reduction reduction, T a, T b) {
  using Wide =
      typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
  if (reduction == Reduction::sum) return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
  if (reduction == Reduction::product) return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
  return reduction == Reduction::min ? std::min(a, b) : std::max(a, b);
}

/// Returns the tree's value over ranks [begin, end): the left side is the largest power of two that leaves
/// a right side.
template <DType dtype>
typename Element<dtype>::Value tree_value(Reduction reduction, Values values, int begin, int end,
                                          std::int64_t index) {
  if (end - begin == 1) return Element<dtype>::load(sample<dtype>(values, begin, index));
  int middle = begin + 1;
  while (end - middle > middle - begin) middle = begin + 2 * (middle - begin);
  return combine_two(reduction, tree_value<dtype>(reduction, values, begin, middle, index),
                     tree_value<dtype>(reduction, values, middle, end, index));
}

template <DType dtype>
typename Element<dtype>::Stored combined(Reduction reduction, Values values, int size, std::int64_t index) {
  return Element<dtype>::store(tree_value<dtype>(reduction, values, 0, size, index));
}

/// A vector with guards on both sides, which show writes outside.
template <class T>
class Guarded {
 public:
  explicit Guarded(std::int64_t numel) : memory_(static_cast<std::size_t>(numel) + 2 * guard, guard_value) {}
  T* data() { return memory_.data() + guard; }
  std::span<T> span() { return {data(), memory_.size() - 2 * guard}; }
  Tensor view(DType dtype) { return {data(), dtype, {std::ssize(span())}, Device::host()}; }
  bool is_intact() const {
    return std::all_of(memory_.begin(), memory_.begin() + guard, is_guard) &&
           std::all_of(memory_.end() - guard, memory_.end(), is_guard);
  }

 private:
  static constexpr std::size_t guard = 16;
  static constexpr T guard_value = static_cast<T>(77);
  static bool is_guard(T value) { return value == guard_value; }
  std::vector<T> memory_;
};

template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

}  // namespace dt::comm::test
