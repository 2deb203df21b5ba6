#pragma once
// Saving on storage that each node has of its own (--checkpoint-local): every rank writes into its node's
// share and sends a copy to the share of the next node, so that the loss of any one node leaves a whole
// checkpoint. A copy that cannot be made is warned of, and made again with the next save; until then the last
// checkpoint that has all copies stays beside the newest.

#include <future>
#include <memory>
#include <optional>

#include "comm/ranks.hpp"
#include "run/copy_receiver.hpp"
#include "run/copy_sender.hpp"
#include "run/local_store.hpp"
#include "run/nodes.hpp"
#include "run/save_target.hpp"

namespace dt::run {

struct LocalSettings {
  fs::path folder;        // the node's, for all users and runs
  double timeout_s;       // after which a partner that does not answer has failed
  bool encrypts = false;  // copies
};

/// All references must outlive it.
class LocalTarget : public SaveTarget {
 public:
  /// Called by all ranks together, while the run is held (by `alive`, on rank 0). Opens the nodes' stores and
  /// finds each rank a way to its node's partner. Errors, on all ranks: environment, naming the node.
  LocalTarget(const comm::Ranks& ranks, const LocalSettings& settings, const RunDirectory& run,
              const Generation& own, const std::string& host = host_name(), const LiveRun* alive = nullptr);

  fs::path begin(const checkpoint::Manifest& header) override;
  /// Sends the copy. A copy that is not made does not fail the save.
  void finish_part(const std::function<void()>& check) override;
  int num_committers() const override { return nodes_.size(); }
  bool is_committer() const override { return is_leader_; }
  /// There are as many parts as ranks.
  void commit(SavedCheckpoint& saved, int num_parts) override;
  /// Warns of copies that have not been made.
  void complete(SavedCheckpoint& saved) override;
  void end(bool is_announced) override;
  /// Older ones go once all nodes have the newer one, and its weights are proven; but not the last that has
  /// all copies.
  void tell_proven(std::int64_t step) override;
  void finish_removal() override;
  /// The step of the newest one whose weights are proven; -1 before there is one.
  std::int64_t proven_step() const { return proven_step_; }

  /// Called by all ranks together, once the state is in the run directory: nothing is left on the nodes. What
  /// cannot be removed is warned of.
  void clear();

 private:
  void check_nodes() const;
  void find_partner();
  const std::vector<int>& senders() const;
  ChannelTerms terms(int node) const;
  std::string at_own_node(const std::string& text) const;
  std::string why_failed(const std::function<void()>& removal) const;
  /// Called by all ranks together.
  void warn_of(const std::string& failure);

  const comm::Ranks& ranks_;
  const RunDirectory& run_;
  const Generation& own_;
  const LiveRun* alive_;
  LocalSettings settings_;
  Nodes nodes_;
  bool is_leader_;
  LocalStore store_;
  std::string claim_;                       // the generation's file
  std::optional<Secret> secret_;            // of this job's copies
  std::unique_ptr<CopyReceiver> receiver_;  // of a leader
  std::optional<CopySender> sender_;
  checkpoint::Manifest header_;           // of the save under way
  std::string copy_failure_;              // of this rank's, in the save under way
  bool has_copies_ = false;               // the save that has been completed last, all of them
  std::optional<std::int64_t> unproven_;  // the step saved last, until it is proven
  std::optional<std::int64_t> copied_;    // the step announced last with all copies
  std::int64_t proven_step_ = -1;
  std::future<std::string> removal_;  // why it failed
};

}  // namespace dt::run
