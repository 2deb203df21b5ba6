#pragma once
// Saving on storage that each node has of its own (--checkpoint-local): every rank writes into its node's
// share and sends a copy to the share of the next node, so that the loss of any one node leaves a whole
// checkpoint.

#include <future>
#include <memory>
#include <optional>

#include "base/tcp.hpp"
#include "comm/ranks.hpp"
#include "run/local_store.hpp"
#include "run/nodes.hpp"
#include "run/part_copy.hpp"
#include "run/save_target.hpp"

namespace dt::run {

/// All references must outlive it.
class LocalTarget : public SaveTarget {
 public:
  /// Called by all ranks together, while the run is held (by `alive`, on rank 0). Opens the nodes' stores in
  /// `folder` and finds each rank a way to its node's partner. `timeout_s`: after which a partner that does
  /// not answer has failed. Errors, on all ranks: environment, naming the node.
  LocalTarget(const comm::Ranks& ranks, const fs::path& folder, const RunDirectory& run,
              const Generation& own, double timeout_s, const std::string& host = host_name(),
              const LiveRun* alive = nullptr);

  fs::path begin(const checkpoint::Manifest& header) override;
  /// Sends the copy.
  void finish_part(const std::function<void()>& check) override;
  int num_committers() const override { return nodes_.size(); }
  bool is_committer() const override { return is_leader_; }
  /// There are as many parts as ranks.
  void commit(SavedCheckpoint& saved, int num_parts) override;
  void end(bool is_announced) override;
  /// Older ones go once all nodes have the newer one, and its weights are proven.
  void tell_proven(std::int64_t step) override;
  void finish_removal() override;
  /// The step of the newest one whose weights are proven; -1 before there is one.
  std::int64_t proven_step() const { return proven_step_; }

  /// Called by all ranks together, once the state is in the run directory: nothing is left on the nodes. What
  /// cannot be removed is warned of.
  void clear();

 private:
  /// A rank of the next node that takes copies.
  struct Partner {
    std::string address;
    std::uint16_t port = 0;
    PartToken token{};
  };
  void check_nodes() const;
  std::string listen();
  void find_partner(const std::string& offer);
  std::string at_own_node(const std::string& text) const;
  std::string why_failed(const std::function<void()>& removal) const;
  /// Called by all ranks together.
  void warn_of(const std::string& failure);

  const comm::Ranks& ranks_;
  const RunDirectory& run_;
  const Generation& own_;
  const LiveRun* alive_;
  double timeout_s_;
  Nodes nodes_;
  bool is_leader_;
  LocalStore store_;
  std::string claim_;  // the generation's file
  PartToken token_{};
  std::unique_ptr<TcpListener> listener_;  // of a leader
  std::optional<Partner> partner_;
  checkpoint::Manifest header_;           // of the save under way
  std::optional<std::int64_t> unproven_;  // the step saved last, until it is proven
  std::int64_t proven_step_ = -1;
  std::future<std::string> removal_;  // why it failed
};

}  // namespace dt::run
