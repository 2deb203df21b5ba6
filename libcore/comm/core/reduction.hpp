#pragma once
// Element-wise reductions of several buffers in a fixed order.

#include <bit>
#include <cstdint>
#include <span>

#include "comm/core/stream_copy.hpp"
#include "tensor/reduction.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm {

/// Returns where the tree over [begin, end), two at least, divides into [begin, middle) and [middle,
/// end). The first half has the largest power of two that leaves something to the second. So each run
/// of 2ⁿ that begins at a multiple of 2ⁿ is a whole subtree, however many runs there are.
inline int tree_split(int begin, int end) {
  return begin + static_cast<int>(std::bit_floor(static_cast<unsigned>(end - begin - 1)));
}

/// Sets out = inputs[0] ∘ inputs[1] ∘ …, combined in the binary tree over [0, n) that tree_split
/// divides.
/// Shapes: all of one size, and inputs of one dtype. `out` may be one of the inputs, but not overlap
/// one otherwise.
/// Numerics: 16-bit floats are combined in fp32 and rounded once. They are not rounded if `out` is
/// of accumulator_dtype, as a node of a larger tree. Integers wrap. Min and max of anything and NaN
/// are NaN. The bits depend on the inputs and their order alone.
/// Errors: internal, u8 or u16 (no arithmetic is defined).
void combine(Reduction reduction, std::span<const Tensor> inputs, const Tensor& out);

/// Combines inputs that lie in the ranks' slots, except for inputs[own]. The result goes into all slots
/// and to `out`, which may be inputs[own].
/// Shapes: two inputs at least, all of one dtype.
/// Numerics: those of combine().
void combine_in_slots(Reduction reduction, std::span<const Tensor> inputs, std::size_t own, const Tensor& out,
                      StoreKind stores);

/// Returns the dtype of partial results, so that rounding happens once: fp32 for 16-bit floats, else
/// `dtype`.
DType accumulator_dtype(DType dtype);
/// Sets out = in, converted between a dtype and its accumulator's, either way.
void cast(const Tensor& in, const Tensor& out);

}  // namespace dt::comm
