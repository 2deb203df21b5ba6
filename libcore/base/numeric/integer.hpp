#pragma once
// Integer division by rounding up or down, and conversion to indices. Device code may call these functions,
// too.

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace dt {

/// Returns `count` ÷ `divisor`, rounded up. `count` is not negative and `divisor` is positive. The
/// result does not overflow, however large the operands are.
template <std::integral T, std::integral U>
constexpr std::common_type_t<T, U> ceil_div(T count, U divisor) {
  using Result = std::common_type_t<T, U>;
  static_assert(std::is_signed_v<Result> == (std::is_signed_v<T> || std::is_signed_v<U>),
                "the common type of the operands does not hold their values");
  const auto n = static_cast<Result>(count), d = static_cast<Result>(divisor);
  return static_cast<Result>(n / d + (n % d > 0 ? 1 : 0));
}

/// Returns the smallest multiple of `unit` that is not below `count`.
template <std::integral T, std::integral U>
constexpr std::common_type_t<T, U> round_up(T count, U unit) {
  return static_cast<std::common_type_t<T, U>>(ceil_div(count, unit) * unit);
}

/// Returns the largest multiple of `unit` that is not above `count`.
template <std::integral T, std::integral U>
constexpr std::common_type_t<T, U> round_down(T count, U unit) {
  using Result = std::common_type_t<T, U>;
  static_assert(std::is_signed_v<Result> == (std::is_signed_v<T> || std::is_signed_v<U>),
                "the common type of the operands does not hold their values");
  return static_cast<Result>(count) / static_cast<Result>(unit) * static_cast<Result>(unit);
}

/// Converts the int numbers of units, parameters and groups to indices.
inline std::size_t to_index(int i) {
  return static_cast<std::size_t>(i);
}

}  // namespace dt
