#pragma once
// Saving into the run directory, which all ranks see: a checkpoint under its final name.

#include <cstdint>
#include <future>
#include <optional>

#include "checkpoint/writer.hpp"
#include "comm/ranks.hpp"
#include "run/run_directory.hpp"
#include "run/save_target.hpp"

namespace dt::run {

/// Which checkpoints a save leaves; see RunDirectory::prune.
struct Retention {
  std::optional<std::int64_t> keep_last;
  std::int64_t keep_every = 0;
};

/// All references must outlive it.
class SharedTarget : public SaveTarget {
 public:
  /// `alive`: on rank 0, what holds the run; none where nothing does.
  SharedTarget(const comm::Ranks& ranks, const RunDirectory& run, const Generation& own, Retention retention,
               const LiveRun* alive = nullptr)
      : ranks_(ranks), run_(run), own_(own), alive_(alive), retention_(retention) {}

  fs::path begin(const checkpoint::Manifest& header) override;
  void finish_part(const std::function<void()>&) override {}
  int num_committers() const override { return 1; }
  bool is_committer() const override { return ranks_.is_first(); }
  /// Errors: environment, also where a newer generation has taken the run over; nothing is under the final
  /// name then (all of it where only the last sync failed).
  void commit(SavedCheckpoint& saved, int num_parts) override;
  /// Nothing of a save that failed is under its final name, or all.
  void end(bool is_announced) override;
  /// Prunes.
  void tell_proven(std::int64_t step) override;
  void finish_removal() override;

 private:
  Removal prune() const;

  const comm::Ranks& ranks_;
  const RunDirectory& run_;
  const Generation& own_;
  const LiveRun* alive_;
  Retention retention_;
  checkpoint::Manifest header_;
  std::optional<checkpoint::UnfinishedCheckpoint> unfinished_;  // on rank 0
  std::optional<std::int64_t> unproven_;                        // the step saved last, until it is proven
  std::future<Removal> removal_;                                // on rank 0
};

/// By rank 0 before each commit. Error{environment}: the run's folder is another now (`alive` knows, where
/// there is one), or another start has taken the run over. What starts that died have claimed is withdrawn:
/// later ones would follow it past what is saved now.
void confirm_ownership(const RunDirectory& run, const Generation& own, const LiveRun* alive);

/// What a start says that finds its run taken over.
[[noreturn]] void give_way(const RunDirectory& run, const Generation& own);

}  // namespace dt::run
