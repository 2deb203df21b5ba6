#pragma once
// Saving on storage of each node (--checkpoint-local). Every rank writes into its node's shard and
// sends a copy to the shard of the next node. The loss of any one node thus leaves a complete
// checkpoint. If a copy fails, the run warns of it and retries with the next save. Until then the
// last checkpoint with all copies stays beside the newest.

#include <future>
#include <memory>
#include <optional>

#include "comm/ranks.hpp"
#include "run/generation.hpp"
#include "run/local/local_checkpoint.hpp"
#include "run/local/local_store.hpp"
#include "run/local/nodes.hpp"
#include "run/local/replication.hpp"
#include "run/save/save_target.hpp"

namespace dt::run {

struct LocalSettings {
  fs::path folder;        // node's folder, for all users and runs
  double timeout_s;       // limit after which a silent partner has failed
  bool encrypts = false;  // encrypts copies
};

/// Saves on the nodes' storage. All references must outlive the target.
class LocalTarget : public SaveTarget {
 public:
  /// Opens the nodes' stores and connects each rank to its node's partner. `alive` holds the run on
  /// rank 0.
  /// Collective: called by all ranks together while the run is held; blocks.
  /// Errors: environment on all ranks, naming the node.
  LocalTarget(const comm::Ranks& ranks, const LocalSettings& settings, const RunDirectory& run,
              const Generation& own, const std::string& host = host_name(), const RunLock* alive = nullptr);

  fs::path begin(const checkpoint::Manifest& header) override;
  /// Sends the copy. A failed copy does not fail the save.
  void finish_shard(const std::function<void()>& check) override;
  void check_run_in_place() const override {
    if (alive_ != nullptr) alive_->check_still_held();
  }
  int num_committers() const override { return nodes_.size(); }
  bool is_committer() const override { return is_leader_; }
  bool keeps_writer_manifests(int) const override { return true; }
  /// Commits the node's shard. A local checkpoint has one writer per rank.
  void commit(SavedCheckpoint& saved, int num_writers, const checkpoint::WrittenPieces& written) override;
  /// Warns of failed copies.
  void complete(SavedCheckpoint& saved) override;
  void end(bool is_announced) override;
  /// Removes older shards once all nodes have the newer one and its weights are proven. Keeps the
  /// last checkpoint with all copies.
  void confirm_weights(std::int64_t step) override;
  void finish_removal() override;
  /// Returns the newest saved step whose weights are proven, or -1 if there is none.
  std::int64_t confirmed_step() const { return confirmed_step_; }

  /// Removes all shards of the run from the nodes, once the state is in the run directory. Warns of
  /// those that cannot be removed.
  /// Collective: called by all ranks together; blocks.
  void clear();

 private:
  void check_nodes() const;
  void find_partner();
  const std::vector<int>& senders() const;
  ChannelTerms terms(int node) const;
  std::string at_own_node(const std::string& text) const;
  std::string why_failed(const std::function<void()>& removal) const;
  /// Prints all ranks' failures as warnings.
  /// Collective: called by all ranks together.
  void warn_of_failures(const std::string& failure);

  const comm::Ranks& ranks_;
  const RunDirectory& run_;
  const Generation& own_;
  const RunLock* alive_;
  LocalSettings settings_;
  Nodes nodes_;
  bool is_leader_;
  LocalStore store_;
  std::string claim_;                       // text of the generation's file
  std::optional<Secret> secret_;            // secret of this job's copies
  std::unique_ptr<CopyReceiver> receiver_;  // set on leaders
  std::optional<CopySender> sender_;
  checkpoint::Manifest header_;              // header of the save in progress
  std::string copy_failure_;                 // this rank's failure in the save in progress
  bool has_copies_ = false;                  // the last completed save has all copies
  std::optional<std::int64_t> unconfirmed_;  // step saved last, until it is proven
  std::optional<std::int64_t> copied_;       // last announced step with all copies
  std::int64_t confirmed_step_ = -1;
  std::future<std::string> removal_;  // yields the failure, or ""
};

}  // namespace dt::run
