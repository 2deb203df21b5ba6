#pragma once
// Destinations of a save, and how each makes it a checkpoint.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "checkpoint/written_pieces.hpp"

namespace dt::run {

namespace fs = std::filesystem;

/// The state of the save in progress (see Saver), which ranks exchange through a step's decision
/// point: one rank's report, or the sum of all ranks' reports.
struct SaveProgress {
  std::int64_t shards_written = 0;  // 1 if this rank's shard is on disk
  std::int64_t commits = 0;         // 1 if this rank has committed
  bool has_failed = false;          // true if any rank failed
};

/// The result of a successful save, on all ranks. Path and size are set on rank 0 only.
struct SavedCheckpoint {
  fs::path path;
  std::uint64_t bytes = 0;
  std::int64_t step = 0;
  double stall_s = 0;        // time that this rank's training stood still
  double write_s = 0;        // time from begin() to the commit
  int num_nodes = 0;         // nodes that hold a shard of a local checkpoint; else 0
  int num_without_copy = 0;  // ranks whose shard of a local checkpoint has no copy on another node
};

/// A destination of saves. For each save the Saver calls, in this order:
/// - begin();
/// - write_shard() into the folder and then finish_shard(), on a thread of each rank;
/// - commit(), once all have returned, on a thread of each rank that is_committer();
/// - complete() and end().
///
/// The save may stop after any of them. Checkpoints that a save makes superfluous stay until its
/// weights are proven.
class SaveTarget {
 public:
  virtual ~SaveTarget() = default;
  /// Returns the folder into which this rank writes its shard.
  /// Collective: called by all ranks together; blocks.
  /// Errors: environment on all ranks.
  virtual fs::path begin(const checkpoint::Manifest& header) = 0;
  /// Finishes this rank's shard after it is on disk. Blocks. `check` is called repeatedly; it throws
  /// if the save has been cancelled.
  /// Errors: environment.
  virtual void finish_shard(const std::function<void()>& check) = 0;
  /// Throws if the run directory was moved or replaced since this job began, as far as this rank can tell.
  /// Errors: environment.
  virtual void check_run_in_place() const = 0;
  /// Return how many ranks commit, and whether this rank does.
  virtual int num_committers() const = 0;
  virtual bool is_committer() const = 0;
  /// Returns whether each of `num_writers` writers leaves a description of what it wrote (part-NNNNN.json)
  /// beside its file. Else rank 0 gets all descriptions by messages. All ranks get one result.
  virtual bool keeps_writer_manifests(int num_writers) const = 0;
  /// Commits the shards of `num_writers` writers. `written` says on rank 0 what they wrote unless each has
  /// left a description. Blocks.
  /// Errors: environment.
  virtual void commit(SavedCheckpoint& saved, int num_writers, const checkpoint::WrittenPieces& written) = 0;
  /// Runs once all committers have committed.
  /// Collective: called by all ranks together.
  virtual void complete([[maybe_unused]] SavedCheckpoint& saved) {}
  /// Ends the save, which is announced or has failed.
  /// Collective: each rank calls it independently.
  virtual void end(bool is_announced) = 0;
  /// States that the weights of `step` and of all steps before have given a finite loss. If the
  /// last save is of such a step, starts to remove what it makes superfluous. The next begin() or
  /// finish_removal() warns of what cannot be removed.
  /// Collective: each rank calls it independently.
  virtual void confirm_weights([[maybe_unused]] std::int64_t step) {}
  /// Waits for a removal in progress, and warns of what stays.
  /// Collective: called by all ranks together; blocks.
  virtual void finish_removal() {}
};

}  // namespace dt::run
