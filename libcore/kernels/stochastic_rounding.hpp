#pragma once
// Stochastic rounding of an optimizer's state to bf16. The random bits of an element depend on the run's
// seed, the step, the parameter and the element's index in it. They do not depend on the rank that holds the
// element, nor on its place in a buffer.

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "base/numeric/half.hpp"
#include "base/numeric/philox.hpp"
#include "tensor/piece.hpp"

namespace dt::kernels {

/// The indices of a tensor's elements in their parameter. Element i of the tensor is element p = begin + i of
/// a box. Rows of the box have `row` elements and are `stride` apart in the parameter. So the index is
/// first + p / row · stride + p % row.
struct ElementIndices {
  std::int64_t parameter = 0;  // index into the model's parameter table
  std::int64_t first = 0;
  std::int64_t begin = 0;
  std::int64_t row = std::numeric_limits<std::int64_t>::max();
  std::int64_t stride = 0;

  constexpr std::int64_t index(std::int64_t i) const {
    const std::int64_t p = begin + i;
    return p < row ? first + p : first + p / row * stride + p % row;
  }
  /// Returns the number of elements from i to the end of its row.
  constexpr std::int64_t left_in_row(std::int64_t i) const { return row - (begin + i) % row; }
  bool operator==(const ElementIndices&) const = default;
};

/// Returns the indices of a piece's elements, with the longest rows that its box allows.
/// Errors: internal, the rows of the box do not have one stride.
ElementIndices element_indices(std::int64_t parameter, const Piece& piece);

/// The random bits of a step: a word of 32 bits for each element. The optimizer's first state takes the lower
/// 16 bits, and the second state the upper 16. A Philox counter (block of four elements, step, parameter)
/// gives the words of four elements.
struct RoundingBits {
  PhiloxKey key = {};
  std::int64_t step = 0;
  ElementIndices elements;

  /// Returns the counter of the block that has the elements 4 · block to 4 · block + 3 of the parameter.
  constexpr PhiloxWords counter(std::int64_t block) const {
    return {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
            static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(elements.parameter)};
  }
};

/// Rounds to one of the two neighbouring bf16 values. Let d be the distance from the value to the neighbour
/// nearer to zero, divided by the distance of the neighbours. The probability of the other neighbour is d, so
/// the mean of the results over all 16-bit `random` is the value.
/// Numerics: a NaN stays a NaN. A value that bf16 can represent does not change.
/// Source: Gupta et al. 2015, section 3.1.
constexpr std::uint16_t round_stochastically(float value, std::uint32_t random) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + (random & 0xffffU)) >> 16, quiet_nan = (bits >> 16) | 0x40U;
  return static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? quiet_nan : rounded);
}

}  // namespace dt::kernels
