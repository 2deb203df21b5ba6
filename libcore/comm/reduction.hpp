#pragma once
// Element-wise reductions of several buffers in a fixed order.

#include <bit>
#include <cstdint>
#include <span>

#include "comm/stream_copy.hpp"
#include "tensor/reduction.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm {

using dt::Reduction;

/// Where the tree over [begin, end), two at least, divides: [begin, middle) and [middle, end). The first of
/// them is of the largest power of two that leaves something to the second: so each run of 2ⁿ that begins at
/// a multiple of 2ⁿ is a whole subtree, however many runs there are.
inline int tree_middle(int begin, int end) {
  return begin + static_cast<int>(std::bit_floor(static_cast<unsigned>(end - begin - 1)));
}

/// out = inputs[0] ∘ inputs[1] ∘ …, combined in the binary tree over [0, n) that tree_middle divides; 16-bit
/// floats in fp32, rounded once, or not at all where out is of accumulator_dtype: then it is a node of a
/// larger tree. Integers wrap; min and max of anything and NaN are NaN. All of one size, and inputs of one
/// dtype; out may be one of the inputs, but not overlap one otherwise. The bits depend on the inputs and
/// their order alone. Errors: internal for u8, u16 (no arithmetic is defined).
void combine(Reduction reduction, std::span<const Tensor> inputs, const Tensor& out);

/// The same of what lies in the ranks' slots, but for inputs[own]; the result goes into all slots and to
/// `out`, which may be inputs[own]. Two inputs at least; all of one dtype.
void combine_in_slots(Reduction reduction, std::span<const Tensor> inputs, std::size_t own, const Tensor& out,
                      Stores stores);

/// What partial results are kept in, so that rounding happens once: fp32 for 16-bit floats, else the dtype.
DType accumulator_dtype(DType dtype);
/// out = in, between a dtype and its accumulator's, either way.
void convert(const Tensor& in, const Tensor& out);

}  // namespace dt::comm
