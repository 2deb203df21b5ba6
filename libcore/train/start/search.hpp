#pragma once
// The search for a checkpoint that can be loaded, among a run's candidates.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/system/host.hpp"
#include "checkpoint/reader.hpp"
#include "comm/exchange.hpp"
#include "plan/action_lists.hpp"
#include "plan/planner.hpp"
#include "train/start/start.hpp"

namespace dt::train {

/// The inputs of preparing a start.
struct StartRequest {
  const plan::Planner& planner;
  const data::Mixture& dataset;
  const run::Promotion& promotion;
  const comm::Ranks& ranks;

  void make_runtime(Start& start) const {
    ranks.world.set_bucket_bytes(start.plan.comm_bucket_bytes);
    start.groups = plan::make_groups(start.plan, ranks.world);
    comm::run_collectively(ranks.world, [&] {
      start.runtime =
          std::make_unique<ModelRuntime>(start.plan, ModelRuntime::Purpose::training, *start.groups);
    });
  }
};

/// Tries candidates, and remembers those that it skips.
class CheckpointSearch {
 public:
  explicit CheckpointSearch(const StartRequest& origin) : request_(origin), ranks_(origin.ranks) {}

  /// Returns nothing if an optional candidate is damaged.
  std::optional<Start> start_from(const Candidate& candidate);
  [[noreturn]] void fail() const;

 private:
  /// Runs `attempt` on all ranks. If it fails on any rank because of an optional candidate's
  /// content, skips the candidate and returns false. Failures of the machine say nothing about the
  /// checkpoint, and are thrown.
  bool try_candidate(const Candidate& candidate, const std::function<void()>& attempt);
  void skip_candidate(const Candidate& candidate, const Error& error);
  void record_failed_load(const Candidate& candidate, const Error& error) const;
  /// Returns whether starts ignore the candidate unless a user names it, even if it can be loaded.
  /// Collective: all ranks.
  bool is_excluded(const Candidate& candidate);
  /// Returns whether the candidate is in a folder that all ranks see, after promotion if necessary.
  /// Collective: all ranks.
  bool make_available(const Candidate& candidate);
  /// Opens the candidate. Rank 0's verdict applies to all ranks.
  /// Collective: all ranks.
  std::optional<checkpoint::Reader> open(const Candidate& candidate);
  void make_start_plan(Start& start, const checkpoint::Reader& reader) const;
  void announce(const Start& start) const;

  const StartRequest& request_;
  const comm::Ranks& ranks_;
  std::vector<checkpoint::Problem> skipped_;
  std::string damaged_;     // the first damaged candidate that can be repaired
  std::string not_finite_;  // the first candidate whose weights gave a loss that is not finite
};

}  // namespace dt::train
