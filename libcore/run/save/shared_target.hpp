#pragma once
// Saving into the run directory, which all ranks see, as a checkpoint under its final name.

#include <cstdint>
#include <future>
#include <optional>

#include "checkpoint/writer.hpp"
#include "comm/ranks.hpp"
#include "run/generation.hpp"
#include "run/run_directory.hpp"
#include "run/save/save_target.hpp"

namespace dt::run {

/// The checkpoints that a save keeps; see RunDirectory::prune.
struct RetentionPolicy {
  std::optional<std::int64_t> keep_last;
  std::int64_t keep_every = 0;
};

/// Saves into the run directory. All references must outlive the target.
class SharedTarget : public SaveTarget {
 public:
  /// `alive` holds the run on rank 0; null if nothing holds it. The manifest lists the pieces of
  /// up to `max_files_with_list` files (see CommitOptions).
  SharedTarget(const comm::Ranks& ranks, const RunDirectory& run, const Generation& own,
               RetentionPolicy retention, const RunLock* alive = nullptr,
               std::size_t max_files_with_list = checkpoint::default_max_files_with_list)
      : ranks_(ranks),
        run_(run),
        own_(own),
        alive_(alive),
        retention_(retention),
        max_files_with_list_(max_files_with_list) {}

  fs::path begin(const checkpoint::Manifest& header) override;
  void finish_shard(const std::function<void()>&) override {}
  void check_run_in_place() const override {
    if (alive_ != nullptr) alive_->check_still_held();
  }
  int num_committers() const override { return 1; }
  bool is_committer() const override { return ranks_.is_root(); }
  bool keeps_writer_manifests(int num_writers) const override {
    return static_cast<std::size_t>(num_writers) <= max_files_with_list_;
  }
  /// Errors: environment, also if a newer generation has taken the run over. The final name then
  /// does not exist, unless only the last sync failed: then the checkpoint is complete.
  void commit(SavedCheckpoint& saved, int num_writers, const checkpoint::WrittenPieces& written) override;
  /// Removes the hidden folder of a failed save. The final name exists with the complete
  /// checkpoint, or not at all.
  void end(bool is_announced) override;
  /// Starts to prune.
  void confirm_weights(std::int64_t step) override;
  void finish_removal() override;

 private:
  RemovalResult prune() const;

  const comm::Ranks& ranks_;
  const RunDirectory& run_;
  const Generation& own_;
  const RunLock* alive_;
  RetentionPolicy retention_;
  std::size_t max_files_with_list_;
  checkpoint::Manifest header_;
  std::optional<checkpoint::CheckpointTransaction> unfinished_;  // on rank 0
  std::optional<std::int64_t> unconfirmed_;                      // step saved last, until it is proven
  std::future<RemovalResult> removal_;                           // on rank 0
};

/// Returns the size of all files in a folder.
std::uint64_t folder_bytes(const fs::path& folder);

/// Checks that rank 0 still owns the run, before each commit. Withdraws claims of starts that died:
/// later starts would follow them past what is saved now.
/// Errors: environment if the run's folder is another one now (only if `alive` is given), or
/// another start has taken the run over.
void confirm_ownership(const RunDirectory& run, const Generation& own, const RunLock* alive);

/// Throws the error of a start whose run another start has taken over.
[[noreturn]] void throw_superseded(const RunDirectory& run, const Generation& own);

}  // namespace dt::run
