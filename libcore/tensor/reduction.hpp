#pragma once
// How ranks' values are combined, element by element: on hosts and on GPUs the same.

#include <type_traits>

namespace dt {

enum class Reduction { sum, product, min, max };

/// Signed overflow is undefined, unsigned wraps.
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
// a != a holds for NaN alone; where only b is NaN the comparison fails and b is taken.
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

/// visit(Op()) of the reduction.
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
