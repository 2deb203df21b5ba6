#pragma once
// Reductions and gathers of ranks on one host, through their NodeWindow.

#include <functional>

#include "comm/algorithms.hpp"

namespace dt::comm {

/// What all ranks do: all_reduce, reduce_scatter or all_gather, of N elements. The side of which a rank has
/// its part alone (in of all_gather, out of reduce_scatter) is that part; the rest are all N.
struct WindowPlan {
  OperationKind kind;
  Tensor in;
  Tensor out;
  Reduction reduction = Reduction::sum;
  std::function<Part(int rank)> part;  // of the N elements
};

/// Whether a group tries its window for an operation on so many bytes in all.
bool is_for_window(const Caller& caller, std::size_t bytes);

/// The plan through the window, or `messages`, which do the same, where the group has none. Each segment goes
/// from a rank's buffer into its slot, is combined by the rank whose part it is, from all slots into its own
/// and `out`, and is copied from there by the others: slots stay in the caches, so what memory sees is each
/// rank's in once and out once.
Algorithm window_algorithm(const Caller& caller, const WindowPlan& plan, const Algorithm& messages);

}  // namespace dt::comm
