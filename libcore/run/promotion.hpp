#pragma once
// Going on from a local checkpoint: what the nodes of a job hold of one is brought together in the run
// directory, where it becomes a checkpoint like any other.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/ranks.hpp"
#include "run/local_checkpoint.hpp"
#include "run/nodes.hpp"

namespace dt::run {

/// All references must outlive it.
class Promotion {
 public:
  /// Called by all ranks together. Without a `folder` nothing is found.
  Promotion(const comm::Ranks& ranks, const std::optional<std::string>& folder, const RunDirectory& run,
            const std::string& host = host_name());

  /// Called by all ranks together: what their nodes hold, newest first, on any lineage or none. Damaged
  /// shares are warned of, unless a survey() was asked before. Errors, on all ranks: environment.
  std::vector<LocalCheckpoint> find(bool was_surveyed = false) const;
  /// The same where some ranks only tell what their nodes hold: storage that cannot be used is warned of and
  /// counts as holding nothing.
  std::vector<LocalCheckpoint> survey() const;

  /// Called by all ranks together with the same checkpoint, which must be one that the run's lineage knows;
  /// its name must be free. Each node copies what it is the holder of, every byte checked; where a share is
  /// damaged, the next holder does. Writes before the run is held: what it commits is what its generation
  /// saved, under its name, whoever else starts meanwhile. A crash leaves the checkpoint or a hidden folder.
  /// Errors, on all ranks: input, where what a writer wrote is nowhere whole; environment.
  void promote(const LocalCheckpoint& local) const;
  /// The same of the first of `newest_first` with which that succeeds: a save that was cut off is newer than
  /// what was announced. Those before it are warned of. Errors, on all ranks: environment.
  void promote_newest(std::span<const LocalCheckpoint> newest_first) const;

  /// Called by all ranks together: nothing of these generations is left on the nodes. What cannot be removed
  /// is warned of.
  void clear(std::int64_t newest_generation) const;
  /// The same of what is older than this checkpoint of the run, which is its newest.
  void clear_older(const checkpoint::CheckpointEntry& newest) const;

 private:
  /// What this node holds, and what of it is of no use, a line each; "" on all ranks of a node but one.
  struct Held {
    std::string shares, problems;
  };
  Held look() const;
  std::vector<LocalCheckpoint> unite(const Held& own) const;
  void remove(const std::function<void(const LocalStore&)>& shares) const;
  void bring_parts(const LocalCheckpoint& local, const checkpoint::Manifest& header,
                   const fs::path& unfinished) const;
  /// "" where one of this node's shares had it whole.
  std::string bring_part(const checkpoint::Manifest& header, int writer, const fs::path& unfinished) const;

  const comm::Ranks& ranks_;
  const RunDirectory& run_;
  std::optional<LocalStore> store_;
  Nodes nodes_;
};

}  // namespace dt::run
