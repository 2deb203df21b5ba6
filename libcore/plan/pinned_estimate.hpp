#pragma once
// What messages of a GPU's memory take of its host's, which they pass through.

#include "parallel/action.hpp"
#include "parallel/local_table.hpp"
#include "plan/plan.hpp"

namespace dt::plan {

/// Bytes that a rank pins at the most: of each lane (see comm::PinnedRing) that its list and its groups have.
std::size_t most_pinned_bytes(const Plan& plan, const parallel::LocalTable& local,
                              const parallel::ActionList& list);

}  // namespace dt::plan
