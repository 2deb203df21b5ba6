#pragma once
// One step of training on all ranks: data, actions, the decision point and the optimizer. It is
// independent of runs, checkpoints and logs.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "data/read/loader.hpp"
#include "optim/gradient_scale.hpp"
#include "optim/optimizer.hpp"
#include "parallel/schedule/action.hpp"
#include "parallel/state/device_sums.hpp"
#include "plan/plan.hpp"
#include "train/step/decision.hpp"
#include "train/step/model_runtime.hpp"
#include "train/step/qk_clip.hpp"
#include "train/step/weight_update.hpp"

namespace dt::train {

/// The parts of a step's time on this rank.
struct StepTimes {
  double data_wait_s = 0;
  double step_s = 0;          // without the wait for data
  double exposed_comm_s = 0;  // time of step_s in which communication held up computation
};

class Stepper {
 public:
  /// All references must outlive this object. `state` is the state of training.
  /// Collective: all ranks.
  Stepper(const plan::Plan& plan, ModelRuntime& runtime, const data::Mixture& dataset,
          checkpoint::TrainingState& state, comm::Communicator& control);

  /// Makes the next step and advances the state. The state is unchanged if the decision is
  /// `superseded`, or if loss or gradients are not finite and the step is not skipped. `report` adds
  /// other facts of this rank to its report.
  Decision step(const std::function<void(LocalStepReport&)>& report, StepTimes& times);

  /// Returns the loss of the next step, by a forward pass alone. Returns nothing if no token of
  /// that step is a target.
  /// Collective: all ranks.
  std::optional<double> forward_loss();

  const optim::LossScale& loss_scale() const { return loss_scale_; }
  /// Returns where the last step's first non-finite value appeared, if there was one and the step
  /// was not skipped; see locate_first_non_finite().
  const std::string& first_non_finite() const { return first_non_finite_; }

 private:
  data::Batch next_batch();
  struct Samples {
    std::uint64_t first;
    std::int64_t count;
  };
  /// Returns the samples that this rank computes in the next step.
  Samples next_samples() const;
  std::int64_t count_first_targets();
  Decision run_actions(data::Batch& batch, const std::function<void(LocalStepReport&)>& report);
  /// `max_scores` are the scores of the step, over all ranks. They are empty without QK-clip.
  void take_optimizer_step(double lr, double grad_scale, std::span<const double> max_scores);
  enum Sum { nll, squared_norm, first_auxiliary };
  LocalStepReport empty_report() const { return LocalStepReport(auxiliary_losses_.size()); }
  /// Moves the sums to the report.
  void drain_sums(LocalStepReport& report);
  /// Returns hooks that add the losses that this rank counts to the sums.
  parallel::StepHooks loss_hooks();
  /// Adds to the sums the squared norm of the gradients that this rank counts.
  void add_squared_norm();
  /// Adjusts the loss scale to the gradients. May mark the step as skipped.
  void adjust_loss_scale(Decision& decision);

  const plan::Plan& plan_;
  ModelRuntime& runtime_;
  checkpoint::TrainingState& state_;
  comm::Communicator& control_;  // has all ranks
  data::Loader loader_;
  parallel::ActionList actions_;
  PhiloxKey rounding_key_;
  WeightUpdate weight_update_;
  std::optional<QkClip> qk_clip_;
  optim::LossScale loss_scale_;
  std::vector<model::AuxiliaryLoss> auxiliary_losses_;  // the model's
  parallel::DeviceSums sums_;                           // sums of Sum, then of auxiliary_losses_
  std::string first_non_finite_;
  std::int64_t num_steps_ = 0;
  bool targets_vary_;          // the number of targets varies over steps, since some tokens are none
  std::int64_t next_targets_;  // targets of the next step, on all ranks
};

}  // namespace dt::train
