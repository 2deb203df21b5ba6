#pragma once
// The optimizer's state of a checkpoint beside that of the training that continues from it.

#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "plan/plan.hpp"

namespace dt::train {

/// The average's decay among the hyper-parameters in a manifest. Absent: there is no average.
inline constexpr const char* ema_parameter = "ema";

/// Returns what a resume changes in the kinds of state, each in words: "adam_m is converted from fp32 to
/// bf16". plan::check_resumable() has accepted the checkpoint.
std::vector<std::string> describe_state_changes(const checkpoint::TrainingState& then, const plan::Plan& now);

}  // namespace dt::train
