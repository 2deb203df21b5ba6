#pragma once
// Views of host numbers as tensors.

#include <concepts>
#include <iterator>
#include <ranges>
#include <type_traits>

#include "tensor/tensor.hpp"

namespace dt {

/// Returns the numbers of a vector, array or span as a tensor of one dim.
template <std::ranges::contiguous_range Values>
requires std::ranges::borrowed_range<Values> Tensor host_tensor(Values&& values) {
  using Number = std::ranges::range_value_t<Values>;
  return Tensor(std::ranges::data(values), dtype_of<Number>(), Shape{std::ranges::ssize(values)},
                Device::host());
}

/// Returns one number as a tensor of one element.
template <class Number>
requires std::is_arithmetic_v<Number> Tensor host_tensor(Number& number) {
  return Tensor(&number, dtype_of<Number>(), Shape{1}, Device::host());
}

}  // namespace dt
