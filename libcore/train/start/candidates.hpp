#pragma once
// Finds the checkpoints that a start may continue from, those on nodes' storage among them.

#include <span>
#include <string>
#include <vector>

#include "comm/ranks.hpp"
#include "plan/settings.hpp"
#include "run/local/local_checkpoint.hpp"
#include "run/run_directory.hpp"

namespace dt::train {

/// A checkpoint that a run could continue from.
struct Candidate {
  fs::path path;
  bool required;  // named by the user: any problem is an error, not a reason to try another
  /// The places on nodes, as text, until the nodes copy it to `path`; "" if it is there.
  std::string local{};
};

/// Returns the effective --resume. A job that Slurm restarts repeats its command. If an earlier
/// start of the job has saved, `never` or a checkpoint would discard that, so both then mean
/// `auto`. Rank 0 reads the run's folder.
/// Collective: all ranks.
std::string effective_resume(const plan::Settings& settings, const comm::Ranks& ranks);

/// Returns the checkpoint of another run that the newest generation's lineage began with, or "".
std::string foreign_parent_checkpoint(const run::RunDirectory& run);

/// Returns the candidates of --resume, newest first; empty means to start anew. A run that began
/// with another run's checkpoint has that one last. `local` are the nodes' checkpoints. Those on
/// the lineage are candidates if the run has none of the same name.
/// Errors: input if --resume auto finds nothing on the lineage, but the run has or had checkpoints.
std::vector<Candidate> resume_candidates(const plan::ResumeRequest& request, const run::RunDirectory* run,
                                         std::span<const run::LocalCheckpoint> local = {});

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
