#pragma once
// Estimates what messages of a GPU's memory, which pass through the host's, take there.

#include "parallel/schedule/action.hpp"
#include "parallel/state/local_table.hpp"
#include "plan/plan.hpp"

namespace dt::plan {

/// Returns the most bytes that a rank pins: the sum over all lanes (see comm::PinnedRing) of its list
/// and its groups.
std::size_t peak_pinned_bytes(const Plan& plan, const parallel::LocalTable& local,
                              const parallel::ActionList& list);

}  // namespace dt::plan
