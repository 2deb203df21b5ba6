#pragma once
// dt-train's modes: a training run, --eval-only and --dry-run.

#include <vector>

#include "base/cli/options.hpp"
#include "base/system/signals.hpp"
#include "comm/ranks.hpp"
#include "plan/settings.hpp"

namespace dt::train {

/// Starts or resumes a run and trains it until its end or until a request to stop. `asked` are the
/// options as text, for run.json. Returns the exit code.
/// Collective: all ranks.
int run_training(const plan::Settings& settings, const std::vector<OptionValue>& asked,
                 const StopSignals& signals, const comm::Ranks& ranks);

/// --eval-only: evaluates the weights of --init-from, or of the checkpoint that --resume selects. Writes the
/// evaluation to stdout and, with --logits-out, logits to a file. Changes no run directory. Returns
/// the exit code.
/// Collective: all ranks.
int evaluate_only(const plan::Settings& settings, const std::vector<OptionValue>& asked,
                  const StopSignals& signals, const comm::Ranks& ranks);

/// --dry-run: checks all that can be checked before a job waits in a queue. Reads model, data and run
/// directory, plans, estimates memory and prints what would run. Changes nothing. Rank 0 does the work.
/// Errors: those that the run would start with.
/// Collective: all ranks.
int dry_run(const plan::Settings& settings, const comm::Ranks& ranks);

}  // namespace dt::train
