#pragma once
// Compares the optimizer's state and the parametrization of a checkpoint with those of the training that
// continues from it.

#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "plan/plan.hpp"

namespace dt::train {

/// The name of the average's decay among the hyper-parameters in a manifest. If it is absent, there is no
/// average.
inline constexpr const char* ema_parameter = "ema";

/// Returns descriptions of what a resume changes in the kinds of state, such as "adam_m is converted from
/// fp32 to bf16". plan::check_resumable() must have accepted the checkpoint.
std::vector<std::string> describe_state_changes(const checkpoint::TrainingState& then, const plan::Plan& now);

/// Returns a warning if the weights of a checkpoint with these conditions began by other factors of muP than
/// this start has, or "".
std::string describe_mup_change(const std::string& conditions, const plan::Plan& now);

}  // namespace dt::train
