#pragma once
// Checkpoints, written by all ranks while training goes on.
//
// begin() hands the state of that moment to a thread on each rank. Where training goes on meanwhile, the
// thread first copies the rank's share, which let_change() waits for before the optimizer changes the state;
// it then writes its share, or leaves the copy to the rank that writes for it (see WritingGroup), without a
// word to other ranks. What has become of it travels through the step's
// decision point: where all have written, rank 0's thread commits; where that is done, or where anyone
// failed, all learn of it.

#include <atomic>
#include <future>
#include <optional>
#include <vector>

#include "checkpoint/run_directory.hpp"
#include "checkpoint/writer.hpp"
#include "comm/ranks.hpp"
#include "parallel/model_storage.hpp"
#include "train/decision.hpp"
#include "train/writing_group.hpp"

namespace dt::train {

/// What all ranks learn of a save that has ended well; path, size and what was removed on rank 0 alone.
struct SavedCheckpoint {
  fs::path path;
  std::uint64_t bytes = 0;
  std::int64_t step = 0;
  double stall_s = 0;  // that this rank's training stood still
  double write_s = 0;  // from its beginning to the commit
  std::vector<fs::path> removed;
  std::string why_not_removed;  // "": all that was to go is gone
};

/// Which checkpoints a save leaves; see RunDirectory::prune.
struct Retention {
  std::optional<std::int64_t> keep_last;
  std::int64_t keep_every = 0;
};

class Saver {
 public:
  /// Called by all ranks together. All references must outlive it. `in_background`: takes the memory in which
  /// a state that changes is copied. Without `writers_per_node` each rank writes a file of its own.
  Saver(const comm::Ranks& ranks, const checkpoint::RunDirectory& run, const checkpoint::Generation& own,
        const parallel::ModelStorage& storage, Retention retention, bool in_background,
        std::optional<std::int64_t> writers_per_node);
  /// Gives up a save that has not ended: nothing of it is under its final name, or all.
  ~Saver();

  bool is_under_way() const { return phase_ != Phase::idle; }
  /// Called by all ranks together, none having a save under way. `state_changes`: training will go on before
  /// finish(), for which the saver must be one `in_background`. Errors, on all ranks: environment.
  void begin(const checkpoint::Manifest& header, bool state_changes);
  /// Before the state changes; blocks until it is copied.
  void let_change();
  /// For the decision point: what has become of this rank's share.
  void report(StepReport& report) const;
  /// Called by all ranks together with what they decided. Returns the save that has ended, on all ranks.
  /// Errors, on all ranks: environment, where one could not write, or a newer generation has taken the run
  /// over; nothing is under the final name then (all of it where only the last sync failed).
  std::optional<SavedCheckpoint> advance(const Decision& decision);
  /// Called by all ranks together: waits for the save under way. Errors as of advance().
  SavedCheckpoint finish();

 private:
  enum class Phase { idle, writing, committing };

  void write(const fs::path& folder, std::vector<checkpoint::SourcePiece> pieces, bool from_copy);
  void commit();
  void begin_commit();
  SavedCheckpoint end();
  bool is_task_done() const;
  /// On all ranks; throws what the task threw on any.
  void join();

  const comm::Ranks& ranks_;
  const checkpoint::RunDirectory& run_;
  const checkpoint::Generation& own_;
  const parallel::ModelStorage& storage_;
  Retention retention_;

  Phase phase_ = Phase::idle;
  checkpoint::Manifest header_;
  std::optional<checkpoint::UnfinishedCheckpoint> unfinished_;  // on rank 0
  WritingGroup group_;
  std::future<void> task_;
  std::atomic<bool> may_change_ = true;
  std::atomic<bool> is_cancelled_ = false;
  bool has_failed_ = false;  // to be read once the task has ended
  double began_s_ = 0;
  SavedCheckpoint saved_;
};

/// What a start says that finds its run taken over.
[[noreturn]] void give_way(const checkpoint::RunDirectory& run, const checkpoint::Generation& own);

}  // namespace dt::train
