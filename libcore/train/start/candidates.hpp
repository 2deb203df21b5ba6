#pragma once
// Finds the checkpoints that a start may continue from, those on nodes' storage among them.

#include <string>
#include <vector>

#include "comm/ranks.hpp"
#include "plan/settings.hpp"
#include "run/local/local_checkpoint.hpp"
#include "run/run_directory.hpp"
#include "train/start/start.hpp"

namespace dt::train {

/// Returns the effective --resume. A job that Slurm restarts repeats its command. If an earlier
/// start of the job has saved, `never` or a checkpoint would discard that, so both then mean
/// `auto`. Rank 0 reads the run's folder.
/// Collective: all ranks.
std::string effective_resume(const plan::Settings& settings, const comm::Ranks& ranks);

/// Returns the candidates for a start, newest first. `local` is what the nodes reported.
std::vector<Candidate> find_candidates(const plan::Settings& settings, const run::RunDirectory& run,
                                       std::vector<run::LocalCheckpoint> local, const comm::Ranks& ranks);

/// Makes the newest checkpoint that nodes alone hold completely an ordinary one. All ranks take
/// part, since nodes of idle ranks may hold shards that others lack. The search skips the rest.
void promote_local_checkpoint(const plan::Settings& settings, const comm::Ranks& ranks);

/// Removes what the nodes of idle ranks held before the run continued, which is useless once the
/// run has ended successfully.
void remove_older_local_checkpoints(const plan::Settings& settings, const comm::Ranks& ranks);

}  // namespace dt::train
