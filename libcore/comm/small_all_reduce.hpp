#pragma once
// All-reduce of few bytes: the fewest messages one after the other, with the bits of combine().

#include "comm/algorithms.hpp"

namespace dt::comm {

bool is_small_all_reduce(const Caller& caller, const Tensor& in);

/// Powers of two exchange partial results pairwise (recursive doubling); others send them up the tree of
/// combine(), where the subtree over ranks [a, b) is a's, and the result down again.
Algorithm small_all_reduce_algorithm(const Caller& caller, const Tensor& in, const Tensor& out,
                                     Reduction reduction);

}  // namespace dt::comm
