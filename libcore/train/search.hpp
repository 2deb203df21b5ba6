#pragma once
// Looking for a checkpoint that can be loaded among those that a run could go on from.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/host.hpp"
#include "checkpoint/reader.hpp"
#include "comm/exchange.hpp"
#include "plan/lists.hpp"
#include "plan/memory_fit.hpp"
#include "plan/precision.hpp"
#include "train/start.hpp"

namespace dt::train {

/// What preparing needs to know.
struct Origin {
  const plan::Settings& settings;
  const model::ModelSpec& spec;
  const data::Mixture& dataset;
  const run::Promotion& promotion;
  const plan::Launch& launch;
  const comm::Ranks& ranks;

  Arithmetic choose_arithmetic(const plan::Plan& plan, const checkpoint::TrainingState* resumed) const {
    plan::require_team(plan, ranks);
    return plan::choose_arithmetic(settings, plan, resumed, ranks);
  }
  /// Error{usage}, beside those of plan::make_plan: more than the hosts' memory holds.
  plan::Plan make_plan(const checkpoint::TrainingState* resumed) const {
    const plan::Replan replan = [&](const plan::Settings& s) {
      return plan::make_plan(s, spec, &dataset, launch, resumed);
    };
    plan::Plan plan = replan(settings);
    plan::check_memory(settings, plan, replan, usable_memory_bytes());
    return plan;
  }
  void make_runtime(Start& start) const {
    ranks.world.set_bucket_bytes(start.plan.comm_bucket_bytes);
    start.groups = plan::make_groups(start.plan, ranks.world);
    comm::together(ranks.world, [&] {
      start.runtime =
          std::make_unique<ModelRuntime>(start.plan, ModelRuntime::Purpose::training, *start.groups);
    });
  }
};

/// Goes through candidates, and remembers those that it passed over.
class Search {
 public:
  explicit Search(const Origin& origin) : origin_(origin), ranks_(origin.ranks) {}

  /// None where an optional candidate is damaged.
  std::optional<Start> start_from(const Candidate& candidate);
  [[noreturn]] void give_up() const;

 private:
  /// Runs `attempt` on all ranks. Where it fails on any for what an optional candidate holds, passes over it
  /// and answers false. What the machine does wrong says nothing about the checkpoint, and is thrown.
  bool succeeds(const Candidate& candidate, const std::function<void()>& attempt);
  void pass_over(const Candidate& candidate, const Error& error);
  void count(const Candidate& candidate, const Error& error) const;
  /// On all ranks: whether no start takes the candidate of its own accord, though it may load.
  bool is_shunned(const Candidate& candidate);
  /// On all ranks: whether the candidate is in a folder that all see, by now at least.
  bool is_at_hand(const Candidate& candidate);
  /// On all ranks; rank 0's verdict stands for all.
  std::optional<checkpoint::Reader> open(const Candidate& candidate);
  void plan(Start& start, const checkpoint::Manifest& manifest) const;
  void tell(const Start& start) const;

  const Origin& origin_;
  const comm::Ranks& ranks_;
  std::vector<checkpoint::Problem> passed_over_;
  std::string damaged_;     // the first of them that is, and is there to be mended
  std::string not_finite_;  // the first of them whose weights gave a loss that is not finite
};

}  // namespace dt::train
