#pragma once
// Combines ranks' values, element by element, the same on hosts and on GPUs.

#include <cstdint>
#include <type_traits>

#include "base/numeric/dtype.hpp"

namespace dt {

enum class Reduction { sum, product, min, max };

/// Elements that can be combined.
using ReducibleTypes = Joined<FloatTypes, TypeList<std::int64_t, std::int32_t, std::uint64_t, std::uint32_t>>;

/// The type in which values are combined: integers as unsigned ones, which wrap, since signed overflow
/// is undefined.
template <class T>
using Wrapping =
    typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

struct Sum {
  template <class T>
  static constexpr T apply(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  }
};
struct Product {
  template <class T>
  static constexpr T apply(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  }
};
// a != a holds for NaN alone. If only b is NaN, the comparison fails and b is taken.
struct Min {
  template <class T>
  static constexpr T apply(T a, T b) {
    return ((a <= b) | (a != a)) ? a : b;
  }
};
struct Max {
  template <class T>
  static constexpr T apply(T a, T b) {
    return ((a >= b) | (a != a)) ? a : b;
  }
};

/// Calls visit(Op()) with the reduction's operator.
template <class Visitor>
void with_reduction(Reduction reduction, const Visitor& visit) {
  switch (reduction) {
    case Reduction::sum:
      return visit(Sum{});
    case Reduction::product:
      return visit(Product{});
    case Reduction::min:
      return visit(Min{});
    case Reduction::max:
      return visit(Max{});
  }
}

}  // namespace dt
