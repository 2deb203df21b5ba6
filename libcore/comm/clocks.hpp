#pragma once
// How the clocks of ranks' hosts differ.

#include <functional>

#include "base/host.hpp"
#include "comm/communicator.hpp"

namespace dt::comm {

/// Of this rank's host.
struct CommonClock {
  double ahead_s = 0;  // of rank 0's
  double error_s = 0;  // at most, as far as that can be said
  double zero_s = 0;   // on this rank's clock, a moment that is the same on all ranks
};

/// Called by all ranks together; blocks, and lets them go on at about the same time. Each asks rank 0 for the
/// time and takes it for that of the middle between question and answer, of the quickest of several.
/// `clock`: this rank's.
CommonClock compare_clocks(Communicator& group, const std::function<double()>& clock = monotonic_s);

}  // namespace dt::comm
