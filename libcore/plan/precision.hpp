#pragma once
// The numbers that a run computes with: --precision, --grad-dtype, --matmul.

#include <string>

#include "base/dtype.hpp"
#include "checkpoint/manifest.hpp"
#include "comm/ranks.hpp"
#include "parallel/precision.hpp"
#include "plan/plan.hpp"
#include "plan/settings.hpp"
#include "tensor/arithmetic.hpp"

namespace dt::plan {

/// Error{usage}: a combination that dt does not compute.
parallel::Precision precision_of(const Settings& settings);

/// Of a run on CPUs. Error{environment}: --matmul asks for what this machine's lacks.
void check_arithmetic(const Settings& settings);

/// "fp32", "bf16", ...: as options name it.
std::string precision_name(DType dtype);

/// Called by all ranks together before any computes with the plan's threads, which end the process where the
/// system refuses one: sees that it grants them, and those that work beside them. Errors: environment, naming
/// the limit.
void require_team(const Plan& plan, const comm::Ranks& ranks);

/// What bf16 matrices are multiplied in, decided by rank 0 for all, who call it together: as --matmul says;
/// else as the run did before (`resumed`); else the fastest here of those that all ranks have, in doubt the
/// one of most bits a cycle. Says what was chosen where nobody asked for it, and why. Errors: environment,
/// naming the rank, where --matmul asks for what a CPU lacks. On GPUs, of fp32 ones: fp32, or tf32 where
/// --matmul asks for it.
Arithmetic choose_arithmetic(const Settings& settings, const Plan& plan,
                             const checkpoint::TrainingState* resumed, const comm::Ranks& ranks);

}  // namespace dt::plan
