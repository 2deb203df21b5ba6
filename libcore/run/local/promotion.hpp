#pragma once
// Promotion of local checkpoints: the shards that the nodes of a job hold are collected in the run
// directory and become an ordinary checkpoint.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/written_pieces.hpp"
#include "comm/ranks.hpp"
#include "run/local/local_checkpoint.hpp"
#include "run/local/nodes.hpp"

namespace dt::run {

/// Finds and promotes local checkpoints. All references must outlive the object.
class Promotion {
 public:
  /// Without a `folder`, find() and survey() return no local checkpoints. The manifest lists the
  /// pieces of a checkpoint of up to `max_files_with_list` files (see CommitOptions).
  /// Collective: called by all ranks together; blocks.
  Promotion(const comm::Ranks& ranks, const std::optional<std::string>& folder, const RunDirectory& run,
            const std::string& host = host_name(),
            std::size_t max_files_with_list = checkpoint::default_max_files_with_list);

  /// Returns the local checkpoints that the nodes hold, newest first, on any lineage or none. Warns
  /// of damaged shards, unless survey() was called before.
  /// Collective: called by all ranks together; blocks.
  /// Errors: environment on all ranks.
  std::vector<LocalCheckpoint> find(bool was_surveyed = false) const;
  /// The same for a report of what nodes hold. Unusable storage gives a warning and counts as
  /// empty.
  std::vector<LocalCheckpoint> survey() const;

  /// Collects `local` into the run directory as a checkpoint. `local` must be on the run's lineage,
  /// and its name must be free. Each node copies the writers' files that it holds and checks every byte. If a
  /// shard is damaged, the next holder copies the writer's files. The call writes before the run is held.
  /// That is safe: it commits exactly what the checkpoint's generation saved, under its name, even
  /// if another start does the same.
  /// Collective: called by all ranks together with the same checkpoint; blocks.
  /// Errors: input on all ranks if no node has a writer's files whole; environment.
  /// After a crash: the checkpoint or a hidden folder remains.
  void promote(const LocalCheckpoint& local) const;
  /// Promotes the newest of these checkpoints that can be promoted. Warns of the newer ones. A save
  /// that was interrupted may be newer than the last announced one.
  /// Collective: called by all ranks together; blocks.
  /// Errors: environment on all ranks.
  void promote_newest(std::span<const LocalCheckpoint> newest_first) const;

  /// Removes all shards of generations up to `newest_generation` from the nodes. Warns of those
  /// that cannot be removed.
  /// Collective: called by all ranks together; blocks.
  void clear(std::int64_t newest_generation) const;
  /// The same for shards older than `newest`, the newest checkpoint of the run.
  void clear_older(const checkpoint::CheckpointEntry& newest) const;

 private:
  /// A node's shards, and its unusable shards, one per line. Both are "" on all ranks of a node
  /// except its leader.
  struct NodeShards {
    std::string shards, problems;
  };
  NodeShards list_own_shards() const;
  std::vector<LocalCheckpoint> merge(const NodeShards& own) const;
  void remove(const std::function<void(const LocalStore&)>& shards) const;
  /// Returns what this rank has copied.
  checkpoint::WrittenPieces collect_writer_files(const LocalCheckpoint& local,
                                                 const checkpoint::Manifest& header,
                                                 const fs::path& unfinished) const;
  bool keeps_writer_manifests(const LocalCheckpoint& local) const {
    return local.holders.size() <= max_files_with_list_;
  }
  /// Copies a writer's files from this node's shards, and adds them to `copied` unless their description is
  /// copied, too. Returns "" if one of the shards had them whole.
  std::string copy_writer_files(const checkpoint::Manifest& header, int writer, const fs::path& unfinished,
                                bool keeps_manifest, checkpoint::WrittenPieces& copied) const;

  const comm::Ranks& ranks_;
  const RunDirectory& run_;
  std::optional<LocalStore> store_;
  Nodes nodes_;
  std::size_t max_files_with_list_;
};

}  // namespace dt::run
