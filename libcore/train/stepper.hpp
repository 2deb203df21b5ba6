#pragma once
// One step of training at a time, by all ranks together: data, actions, the decision point, the optimizer.
// It knows nothing of runs, checkpoints or logs.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "data/loader.hpp"
#include "optim/adamw.hpp"
#include "optim/loss_scale.hpp"
#include "parallel/action.hpp"
#include "parallel/device_sums.hpp"
#include "plan/plan.hpp"
#include "train/decision.hpp"
#include "train/model_runtime.hpp"

namespace dt::train {

/// Where a step's time went on this rank.
struct StepTimes {
  double data_wait_s = 0;
  double step_s = 0;          // without the wait for data
  double exposed_comm_s = 0;  // of it: what communication took from computing
};

class Stepper {
 public:
  /// Called by all ranks together. All references must outlive it. `state` is where training stands.
  Stepper(const plan::Plan& plan, ModelRuntime& runtime, const data::Mixture& dataset,
          checkpoint::TrainingState& state, comm::Communicator& control);

  /// Makes the next step and moves the state on, unless the decision is that it must not be made: loss or
  /// gradients that are not finite, or `superseded`. `report` adds what else this rank has to tell the
  /// others.
  Decision step(const std::function<void(StepReport&)>& report, StepTimes& times);

  /// Called by all ranks together: the loss that the next step would have, by its forward pass alone. None
  /// where no token of that step is a target.
  std::optional<double> forward_loss();

  const optim::LossScale& loss_scale() const { return loss_scale_; }
  /// Where in the last step a value that is not finite came up first, if one did and was not skipped; see
  /// first_not_finite().
  const std::string& not_finite() const { return not_finite_; }

 private:
  data::Batch next_batch();
  struct Samples {
    std::uint64_t first;
    std::int64_t count;
  };
  /// That this rank computes in the step to be made.
  Samples next_samples() const;
  std::int64_t count_first_targets();
  Decision run_actions(data::Batch& batch, const std::function<void(StepReport&)>& report);
  void take_optimizer_step(double lr, double grad_scale);
  enum Sum { nll, squared_norm, num_sums };
  /// Of the gradients that this rank answers for.
  void add_squared_norm();
  /// Lets the loss scale follow what the gradients bear; may turn a step into one that is skipped.
  void adjust_loss_scale(Decision& decision);

  const plan::Plan& plan_;
  ModelRuntime& runtime_;
  checkpoint::TrainingState& state_;
  comm::Communicator& control_;  // everyone
  data::Loader loader_;
  parallel::ActionList actions_;
  std::vector<std::vector<optim::Segment>> segments_;  // of each group
  optim::LossScale loss_scale_;
  parallel::DeviceSums sums_;
  std::string not_finite_;
  std::int64_t num_steps_ = 0;
  bool targets_vary_;          // from step to step: some tokens are none
  std::int64_t next_targets_;  // of the step to be made, on all ranks
};

}  // namespace dt::train
