#pragma once
// Supplies a resume with the options of its run.

#include "base/cli/options.hpp"
#include "comm/ranks.hpp"
#include "plan/launch.hpp"
#include "plan/settings.hpp"

namespace dt::train {

/// Supplies the options that the command leaves out. They come from the run.json of --run, or else
/// from the run of the checkpoint that the command names. Reports them in one line. `settings` are
/// those that `options` fills. With `--resume never`, nothing is supplied. An incomplete run.json is
/// reported and ignored. Rank 0 reads.
/// Errors: usage if the run began with --init-from and has no checkpoint to continue from;
/// environment.
/// Collective: all ranks.
void inherit_options(const plan::Settings& settings, OptionTable& options, const plan::Launch& launch,
                     const comm::Ranks& ranks);

}  // namespace dt::train
