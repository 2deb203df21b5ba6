#pragma once
// dt-train --show-schedule: draws what ranks do in a step. With --roofline it prints the times of the step's
// operations on a GPU, which need not be there.

#include "base/cli/console.hpp"
#include "comm/ranks.hpp"
#include "plan/planner.hpp"
#include "plan/time/forecast.hpp"
#include "plan/time/roofline.hpp"

namespace dt::equivalence {

/// Validates the lists of all ranks together. Prints when each stage does what, its memory and the
/// bytes that its ranks move, then rank 0's list, an action a line. --json prints the list, then an
/// object of "kind" "stage" for each stage and one of "step". --svg writes the picture atomically.
/// Nothing is run.
/// Collective: all ranks call it.
int show_schedule(const plan::Settings& settings, const comm::Ranks& ranks);

/// Returns the settings with a simulated GPU for each rank if --roofline names one; otherwise
/// unchanged.
plan::Settings with_simulated_gpus(const plan::Settings& settings, int num_ranks);

/// Returns the bandwidths of links that plans use: those of the options, and within nodes by default
/// those of --roofline's GPU.
plan::LinkBandwidths roofline_link_bandwidths(const plan::Settings& settings);

/// Prints the roofline of a step of the busiest stage's ranks on a GPU of these rates. It lists the
/// operations, the waits, the MFU, and the gain from each property of dt's kernels.
/// Errors: usage, training that is not in 16 bits.
void show_roofline(const plan::GpuRates& rates, plan::LinkBandwidths links, const plan::Plan& plan,
                   Console& console);

}  // namespace dt::equivalence
