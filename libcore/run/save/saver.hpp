#pragma once
// Checkpoints that all ranks write while training continues.
//
// begin() hands the present state to a thread on each rank. If training continues meanwhile, or the
// state is on a device, the thread first copies the rank's shard. It copies from a device on a
// stream of its own. wait_until_copied() waits for that copy before the optimizer changes the state. The
// thread then writes its shard, or leaves the copy to the rank that writes for it (see
// AggregationGroup). It exchanges no messages with other ranks. The result travels through the step's
// decision point. Once all ranks have written, rank 0 learns what they wrote, by messages if they are many,
// and the target's committers commit. Once they are done, or any rank has failed, all ranks learn of it.

#include <atomic>
#include <future>
#include <optional>
#include <vector>

#include "checkpoint/writer.hpp"
#include "comm/ranks.hpp"
#include "run/save/save_target.hpp"
#include "run/save/writing_group.hpp"

namespace dt::run {

class Saver {
 public:
  /// `in_background` allocates the memory for copies of a changing state. Without
  /// `writers_per_node` each rank writes its own file. All references must outlive the saver.
  /// Collective: called by all ranks together; blocks.
  Saver(const comm::Ranks& ranks, StateShards shards, bool in_background,
        std::optional<std::int64_t> writers_per_node);
  /// Cancels a save that has not ended.
  ~Saver();

  bool is_under_way() const { return phase_ != Phase::idle; }
  /// Starts a save; none may be in progress. The target must outlive it. `state_changes` means that
  /// training continues before finish(), which requires a saver with `in_background`.
  /// Collective: called by all ranks together; blocks.
  /// Errors: environment on all ranks.
  void begin(SaveTarget& target, const checkpoint::Manifest& header, bool state_changes);
  /// Blocks until the state is copied or the copy has failed. Call it before the state changes.
  void wait_until_copied();
  /// Returns this rank's progress, for the decision point.
  SaveProgress progress() const;
  /// Advances the save, given the progress of all ranks. Returns the save once it has ended.
  /// Collective: called by all ranks together with the same value.
  /// Errors: on all ranks, environment if a rank could not write, and those of the target's commit.
  std::optional<SavedCheckpoint> advance(const SaveProgress& of_all);
  /// Waits for the save in progress.
  /// Collective: called by all ranks together; blocks.
  /// Errors: as advance().
  SavedCheckpoint finish();

 private:
  enum class Phase { idle, writing, committing };

  void write(const fs::path& folder, std::vector<checkpoint::SourcePiece> pieces, bool from_copy);
  void write_file(const fs::path& folder, std::vector<checkpoint::SourcePiece>& pieces);
  void commit();
  void begin_commit();
  SavedCheckpoint end();
  void end_target(bool is_announced);
  bool is_task_done() const;
  /// Waits for the tasks of all ranks. Throws on all ranks what any task threw.
  void join();

  const comm::Ranks& ranks_;
  StateShards shards_;

  Phase phase_ = Phase::idle;
  SaveTarget* target_ = nullptr;  // target of the save in progress
  checkpoint::Manifest header_;
  AggregationGroup group_;
  checkpoint::WrittenPieces
      written_;  // this rank's files and pieces; on rank 0, at the commit, those of all ranks
  std::future<void> task_;
  std::atomic<bool> is_copied_ = true;
  std::atomic<bool> is_cancelled_ = false;
  bool has_failed_ = false;  // valid once the task has ended
  double began_s_ = 0;
  SavedCheckpoint saved_;
};

}  // namespace dt::run
