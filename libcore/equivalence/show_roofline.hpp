#pragma once
// dt-train --roofline: prints the times of a step's operations on a GPU, which need not be there.

#include "base/cli/console.hpp"
#include "plan/plan.hpp"
#include "plan/time/forecast.hpp"
#include "plan/time/roofline.hpp"

namespace dt::equivalence {

/// Prints the roofline of a step of the busiest stage's ranks on a GPU of these rates. It lists the
/// operations, the waits, the MFU, and the gain from each property of dt's kernels.
/// Errors: usage, training that is not in 16 bits.
void show_roofline(const plan::GpuRates& rates, plan::LinkBandwidths links, const plan::Plan& plan,
                   Console& console);

}  // namespace dt::equivalence
