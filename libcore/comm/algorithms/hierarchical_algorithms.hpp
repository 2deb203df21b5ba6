#pragma once
// Operations of ranks on several hosts, with as few bytes between hosts as possible.
// Legend: H hosts (runs of ranks on one host, see Placement) with L ranks each, rank hL + l.

#include "comm/algorithms/algorithms.hpp"
#include "comm/core/collective.hpp"

namespace dt::comm {

/// Returns whether fewer bytes pass between hosts by these algorithms than without them.
bool is_hierarchical_faster(const Collective& collective, const Placement& placement);

/// Returns the algorithm of a collective over several hosts. A reduction goes through the hosts'
/// windows first: rank l of each host combines, over its host's ranks, the ranges of the ranks l of
/// all hosts. These ranks then exchange their hosts' sums, and combine those of their own ranges. A
/// gather goes the same way back. Segments follow each other, some in a window while others are
/// between hosts.
/// Numerics: the hosts' sums are whole subtrees of combine(), so the bits are the same.
/// Errors, while it goes on: those of NodeWindow::may_begin.
Algorithm hierarchical_algorithm(const Caller& caller, const Collective& collective,
                                 const Algorithm& messages);

}  // namespace dt::comm
