#pragma once
// Writes and reads unit_times.json of a run directory: how long the computations of its units took.

#include <vector>

#include "base/io/files.hpp"
#include "parallel/schedule/step_observer.hpp"
#include "plan/plan.hpp"

namespace dt::plan {

/// Replaces the run's file atomically. Writes nothing if a unit has no times: nothing was trained.
/// Errors: environment.
void write_unit_times(const fs::path& run, const Plan& plan, const parallel::UnitTimes& times);

/// Returns the times of the plan's units.
/// Units: seconds for a micro-batch.
/// Errors: input, the run has no file (it writes it as it ends), or the times are of another model or
/// of other computations than the plan's: of another micro-batch, sequence length, precision,
/// recomputation, number of threads, or number of tensor-parallel or context-parallel ranks, or with
/// other masking of documents.
std::vector<parallel::UnitCost> read_unit_times(const fs::path& run, const Plan& plan);

}  // namespace dt::plan
