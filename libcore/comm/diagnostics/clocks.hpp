#pragma once
// Measures how far the clocks of ranks' hosts differ.

#include <functional>

#include "base/system/host.hpp"
#include "comm/communicator.hpp"

namespace dt::comm {

/// The clock of this rank's host, compared with that of rank 0's host.
struct ClockOffset {
  double ahead_s = 0;  // seconds ahead of rank 0's clock
  double error_s = 0;  // bound of the error of ahead_s, as far as it can be known
  double zero_s = 0;   // a moment on this rank's clock, the same moment on all ranks
};

/// Compares this rank's clock with rank 0's, and releases all ranks at about the same time. Each
/// rank asks rank 0 for the time, and takes the answer as the time midway between question and
/// answer. The quickest of several exchanges counts. `clock` is this rank's.
/// Collective: all ranks call it; blocks.
ClockOffset synchronize_clocks(Communicator& group, const std::function<double()>& clock = monotonic_s);

}  // namespace dt::comm
