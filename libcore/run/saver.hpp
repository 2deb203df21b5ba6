#pragma once
// Checkpoints, written by all ranks while training goes on.
//
// begin() hands the state of that moment to a thread on each rank. Where training goes on meanwhile, or the
// state lies on a device, the thread first copies the rank's share (from a device by a stream of its own),
// which let_change() waits for before the optimizer changes the state; it then writes its share, or leaves
// the copy to the rank that writes for it (see WritingGroup), without a word to other ranks' training. What
// has become of it travels through the step's decision point: where all have written, those commit who do for
// the target; where that is done, or where anyone failed, all learn of it.

#include <atomic>
#include <future>
#include <optional>
#include <vector>

#include "checkpoint/writer.hpp"
#include "comm/ranks.hpp"
#include "run/save_progress.hpp"
#include "run/save_target.hpp"
#include "run/writing_group.hpp"

namespace dt::run {

class Saver {
 public:
  /// Called by all ranks together. All references must outlive it. `in_background`: takes the memory in which
  /// a state that changes is copied. Without `writers_per_node` each rank writes a file of its own.
  Saver(const comm::Ranks& ranks, StateShares shares, bool in_background,
        std::optional<std::int64_t> writers_per_node);
  /// Gives up a save that has not ended.
  ~Saver();

  bool is_under_way() const { return phase_ != Phase::idle; }
  /// Called by all ranks together, none having a save under way; the target must outlive it. `state_changes`:
  /// training will go on before finish(), for which the saver must be one `in_background`. Errors, on all
  /// ranks: environment.
  void begin(SaveTarget& target, const checkpoint::Manifest& header, bool state_changes);
  /// Before the state changes; blocks until it is copied, or that has failed.
  void let_change();
  /// For the decision point: what has become of this rank's share.
  SaveProgress progress() const;
  /// Called by all ranks together with the progress of all. Returns the save that has ended, on all ranks.
  /// Errors, on all ranks: environment, where one could not write, and what the target's commit throws.
  std::optional<SavedCheckpoint> advance(const SaveProgress& of_all);
  /// Called by all ranks together: waits for the save under way. Errors as of advance().
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
  /// On all ranks; throws what the task threw on any.
  void join();

  const comm::Ranks& ranks_;
  StateShares shares_;

  Phase phase_ = Phase::idle;
  SaveTarget* target_ = nullptr;  // of the save under way
  checkpoint::Manifest header_;
  WritingGroup group_;
  std::future<void> task_;
  std::atomic<bool> may_change_ = true;
  std::atomic<bool> is_cancelled_ = false;
  bool has_failed_ = false;  // to be read once the task has ended
  double began_s_ = 0;
  SavedCheckpoint saved_;
};

}  // namespace dt::run
