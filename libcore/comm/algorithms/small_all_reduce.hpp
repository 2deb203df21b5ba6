#pragma once
// All-reduce of few bytes: the fewest messages in a row, with the bits of combine().

#include "comm/algorithms/algorithms.hpp"

namespace dt::comm {

bool is_small_all_reduce(const Caller& caller, const Tensor& in);

/// Returns the algorithm of a small all-reduce. If n is a power of two, ranks exchange partial results
/// pairwise (recursive doubling). Otherwise they send them up the tree of combine(), where rank a owns
/// the subtree over ranks [a, b), and the result down again.
Algorithm small_all_reduce_algorithm(const Caller& caller, const Tensor& in, const Tensor& out,
                                     Reduction reduction);

}  // namespace dt::comm
