#pragma once
// dt-train --eval-only: the validation loss of weights from anywhere.

#include <vector>

#include "base/options.hpp"
#include "base/signals.hpp"
#include "comm/ranks.hpp"
#include "plan/settings.hpp"

namespace dt::train {

/// Called by all ranks together: takes --init-from, or what --resume leads to; writes the evaluation to
/// stdout and, with --logits-out, logits to a file. Touches no run directory. Returns the exit code.
int evaluate_only(const plan::Settings& settings, const std::vector<OptionValue>& asked,
                  const StopSignals& signals, const comm::Ranks& ranks);

}  // namespace dt::train
