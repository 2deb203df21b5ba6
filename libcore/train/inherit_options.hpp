#pragma once
// A resume goes on with the options of its run.

#include "base/options.hpp"
#include "comm/ranks.hpp"
#include "plan/launch.hpp"
#include "plan/settings.hpp"

namespace dt::train {

/// Supplies the options that the command leaves out from the run.json of --run, else of the run that the
/// named checkpoint lies in, and says so in one line. `settings` are those that `options` fills. --resume
/// never takes nothing. A run.json that is torn is told and passed over. Collective: called by all ranks
/// together; rank 0 reads. Errors: usage, where the run began with --init-from and has nothing to go on from;
/// environment.
void inherit_options(const plan::Settings& settings, OptionTable& options, const plan::Launch& launch,
                     const comm::Ranks& ranks);

}  // namespace dt::train
