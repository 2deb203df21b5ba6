#pragma once
// unit_times.json of a run directory: how long its units' computations took.

#include <vector>

#include "base/files.hpp"
#include "parallel/unit_times.hpp"
#include "plan/plan.hpp"

namespace dt::plan {

/// Replaces the run's; atomic. Not written where a unit has no times: nothing was trained.
/// Errors: environment.
void write_unit_times(const fs::path& run, const Plan& plan, const parallel::UnitTimes& times);

/// Of the plan's units, seconds for a micro-batch. Error{input}: the run has none (it writes them as it
/// ends), or they are of another model, or of computations that the plan's are not: of another micro-batch,
/// sequence length, precision, recompute, number of threads or of ranks that share layers or divide
/// sequences, or with documents masked.
std::vector<parallel::UnitCost> read_unit_times(const fs::path& run, const Plan& plan);

}  // namespace dt::plan
