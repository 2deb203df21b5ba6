#pragma once
// Views of numbers that the host holds.

#include <concepts>
#include <iterator>
#include <ranges>
#include <type_traits>

#include "tensor/tensor.hpp"

namespace dt {

/// Returns a vector's, array's or span's numbers, as a vector.
template <std::ranges::contiguous_range Values>
requires std::ranges::borrowed_range<Values> Tensor host_tensor(Values&& values) {
  using Number = std::ranges::range_value_t<Values>;
  return Tensor(std::ranges::data(values), dtype_of<Number>(), Shape{std::ranges::ssize(values)},
                Device::host());
}

/// Returns one number, as a vector of one element.
template <class Number>
requires std::is_arithmetic_v<Number> Tensor host_tensor(Number& number) {
  return Tensor(&number, dtype_of<Number>(), Shape{1}, Device::host());
}

}  // namespace dt
