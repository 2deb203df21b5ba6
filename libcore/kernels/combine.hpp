#pragma once
// Reductions over ranks, on GPUs. Legend: n ranks, N elements.

#include "tensor/context.hpp"
#include "tensor/reduction.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// What ranks bring: this one's elements, and those of the others, by rank, each in a slot of its own.
struct RankInputs {
  Tensor own_N;
  int own_rank = 0;
  Tensor others_RS;  // R = n − 1 slots; the first N of the S elements of each count
};

/// out_N = input 0 ∘ input 1 ∘ …, in the order of ranks, along the tree of comm::combine and with its bits
/// (but for those of NaN): 16-bit floats in fp32, rounded once; integers wrap. Any dtype but u8 and u16; out
/// may be own. A node of a larger tree is not rounded: of 16-bit inputs out may be fp32, and of fp32 ones of
/// 16 bits. On a GPU: on hosts messages are combined as they come.
void combine_ranks(const Context& context, Reduction reduction, const RankInputs& inputs,
                   const Tensor& out_N);

}  // namespace dt::kernels
