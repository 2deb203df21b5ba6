#pragma once
// Chooses the numbers that a run computes with: --precision, --grad-dtype, --matmul.

#include <string>

#include "base/numeric/dtype.hpp"
#include "checkpoint/manifest.hpp"
#include "comm/ranks.hpp"
#include "parallel/state/precision.hpp"
#include "plan/plan.hpp"
#include "tensor/context.hpp"

namespace dt::plan {

struct Settings;  // plan/settings.hpp

/// Returns the precision that the settings ask for.
/// Errors: usage, a combination that dt does not compute.
parallel::Precision precision_of(const Settings& settings);

/// Checks --matmul of a run on CPUs.
/// Errors: environment, this machine's CPU lacks what --matmul asks for.
void check_arithmetic(const Settings& settings);

/// Checks that the system grants the plan's threads and dt's background threads. Call it before any
/// rank computes with the plan's threads: if the system refuses one of these, the process ends.
/// Errors: environment, naming the limit.
/// Collective: all ranks call it.
void check_thread_limit(const Plan& plan, const comm::Ranks& ranks);

/// Returns the arithmetic in which bf16 matrices are multiplied. Rank 0 decides for all ranks: as
/// --matmul says; else as the run did before (`resumed`); else the fastest here of those that all
/// ranks have. It takes AMX before bf16 before fp32 unless a later one is clearly faster. If
/// --matmul does not ask for the choice, rank 0 announces it and the reason. On GPUs the choice is
/// for fp32 matrices: fp32, or tf32 if --matmul asks for it.
/// Errors: environment, naming the rank whose CPU lacks what --matmul asks for; those of
/// check_thread_limit(). Collective: all ranks call it.
Arithmetic choose_arithmetic(const Plan& plan, const checkpoint::TrainingState* resumed,
                             const comm::Ranks& ranks);

}  // namespace dt::plan
