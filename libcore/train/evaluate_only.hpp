#pragma once
// dt-train --eval-only: the validation loss of weights from any source.

#include <vector>

#include "base/cli/options.hpp"
#include "base/system/signals.hpp"
#include "comm/ranks.hpp"
#include "plan/settings.hpp"

namespace dt::train {

/// Evaluates the weights of --init-from, or of the checkpoint that --resume selects. Writes the
/// evaluation to stdout and, with --logits-out, logits to a file. Changes no run directory. Returns
/// the exit code.
/// Collective: all ranks.
int evaluate_only(const plan::Settings& settings, const std::vector<OptionValue>& asked,
                  const StopSignals& signals, const comm::Ranks& ranks);

}  // namespace dt::train
