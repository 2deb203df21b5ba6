#pragma once
// Reductions over ranks, on GPUs.
// Legend: n ranks, N elements.

#include "tensor/context.hpp"
#include "tensor/reduction.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// The inputs of all ranks: this rank's elements, and the others' by rank, each in its own slot.
struct RankInputs {
  Tensor own_N;
  int own_rank = 0;
  Tensor others_RS;  // R = n − 1 slots; the first N of the S elements of each count
};

/// Computes out_N = input 0 ∘ input 1 ∘ … in rank order, along the tree of comm::combine. out may
/// alias own. Only on GPUs: on hosts, messages are combined as they arrive.
/// Numerics: the same bits as comm::combine, except for NaNs. 16-bit floats are combined in fp32
/// and rounded once; integers wrap. Any dtype but u8 and u16. A node of a larger tree is not
/// rounded: out may be fp32 for 16-bit inputs, and 16 bits for fp32 inputs.
void combine_ranks(const Context& context, Reduction reduction, const RankInputs& inputs,
                   const Tensor& out_N);

}  // namespace dt::kernels
