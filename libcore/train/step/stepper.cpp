#include "train/step/stepper.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/numeric/random.hpp"
#include "base/system/host.hpp"
#include "comm/exchange.hpp"
#include "parallel/state/device_sums.hpp"
#include "plan/action_lists.hpp"
#include "train/step/non_finite.hpp"

namespace dt::train {

namespace {

/// Checks that all stages read the same samples. The loss uses the first stage's tokens and the
/// last stage's labels.
void check_same_data(const LocalStepReport& combined) {
  if (combined.data_digest == combined.head_digest) return;
  throw comm::SharedError(
      ErrorKind::input,
      fmt::format("the first stage read samples with digest {:016x}, the last stage {:016x}",
                  combined.data_digest, combined.head_digest),
      "check that all nodes see the same --data");
}

}  // namespace

Stepper::Stepper(const plan::Plan& plan, ModelRuntime& runtime, const data::Mixture& dataset,
                 checkpoint::TrainingState& state, comm::Communicator& control)
    : plan_(plan),
      runtime_(runtime),
      state_(state),
      control_(control),
      loader_(dataset, plan.seed, plan.sequence_length, plan.mask_documents),
      actions_(plan::training_list(plan)),
      rounding_key_(RandomField(plan.seed, "rounding of optimizer state").key()),
      weight_update_(runtime.context(), runtime.storage(), plan.optimizer, plan.parameter_settings, plan.ema),
      auxiliary_losses_(runtime.auxiliary_losses()),
      sums_(runtime.context(), first_auxiliary + static_cast<int>(auxiliary_losses_.size())),
      targets_vary_(dataset.masks_targets()),
      next_targets_(targets_vary_ ? count_first_targets() : plan.tokens_per_step()) {
  if (plan_.qk_clip > 0) qk_clip_.emplace(runtime.context(), runtime.storage(), plan.spec, plan.qk_clip);
  if (!plan_.loss_scale) {  // an earlier start may have had one
    state_.loss_scale = 0;
    state_.loss_scale_good_steps = 0;
    return;
  }
  loss_scale_ = optim::initial_loss_scale(*plan_.loss_scale);
  if (!plan_.loss_scale->fixed && state_.loss_scale > 0)
    loss_scale_ = {.value = state_.loss_scale, .good_steps = state_.loss_scale_good_steps};
}

Decision Stepper::step(const std::function<void(LocalStepReport&)>& report, StepTimes& times) {
  control_.engine().recorder().set_step(state_.step + 1);
  if (++num_steps_ == 2) runtime_.executor().unit_times().clear();  // the first step allocates memory
  const double started_s = monotonic_s(), waited_before_s = loader_.wait_s();
  const parallel::ExposedTime& exposed = runtime_.storage().ranks().exposed_time();
  const double exposed_before_s = exposed.sum_s();
  data::Batch batch = next_batch();
  const Decision decision = run_actions(batch, report);
  times.data_wait_s =
      loader_.wait_s() - waited_before_s;  // includes the wait for the next batch, to count its targets
  times.step_s = monotonic_s() - started_s - times.data_wait_s;
  times.exposed_comm_s = exposed.sum_s() - exposed_before_s;
  if ((!decision.finite && !decision.skip) || decision.superseded) return decision;
  state_.step += 1;
  state_.samples_consumed += static_cast<std::uint64_t>(plan_.global_batch);
  state_.tokens_consumed += static_cast<std::uint64_t>(plan_.tokens_per_step());
  state_.data_digest += decision.data_digest;
  return decision;
}

Stepper::Samples Stepper::next_samples() const {
  const auto first = static_cast<std::uint64_t>(runtime_.lanes().first_micro_batch() * plan_.micro_batch);
  return {state_.samples_consumed + first, runtime_.lanes().num_micro_batches() * plan_.micro_batch};
}

data::Batch Stepper::next_batch() {
  const Samples own = next_samples();
  return loader_.next(own.first, own.count, own.first + static_cast<std::uint64_t>(plan_.global_batch));
}

/// Counts the targets of the next step on all ranks. Targets of later steps come with the previous
/// decision.
std::int64_t Stepper::count_first_targets() {
  const Samples own = next_samples();
  std::vector<std::int64_t> targets = {0};
  const data::Batch batch = loader_.next(own.first, own.count, own.first);  // read again for the step
  if (runtime_.local().counts_targets()) targets.front() = data::num_targets(batch);
  comm::all_reduce_sum(control_, targets);
  return targets.front();
}

std::optional<double> Stepper::forward_loss() {
  if (next_targets_ == 0) return std::nullopt;
  const Samples own = next_samples();
  data::Batch batch = loader_.next(own.first, own.count, own.first);
  MicroBatches micro_batches = runtime_.micro_batches(batch, plan_.micro_batch);
  const parallel::StepShape shape = plan::step_shape(plan_, runtime_.num_units());
  const auto lists = parallel::build_evaluations(shape, plan::pipeline_of(plan_));
  runtime_.executor().run(lists[static_cast<std::size_t>(plan_.place.pp)], micro_batches.list(),
                          shape.first_micro_batch, loss_hooks());
  runtime_.context().synchronize();
  LocalStepReport report = empty_report();
  drain_sums(report);
  report.all_reduce(control_);
  return report.nll.value() / static_cast<double>(next_targets_);
}

Decision Stepper::run_actions(data::Batch& batch, const std::function<void(LocalStepReport&)>& report) {
  const std::int64_t step = state_.step + 1;
  const std::uint64_t digest =
      data::batch_digest(batch.digest_seeds_B.data(), batch.tokens_BT.data(), batch.labels_BT.data(),
                         batch.num_samples, batch.sequence_length);
  const std::int64_t num_targets = next_targets_;
  const std::int64_t targets = std::max<std::int64_t>(1, num_targets);  // a step without targets has no loss
  MicroBatches micro_batches = runtime_.micro_batches(batch, plan_.micro_batch);
  for (model::MicroBatch& m : micro_batches.list()) {
    m.step = step;
    m.loss_scale = loss_scale_.value / static_cast<double>(targets);
    m.auxiliary_scale = loss_scale_.value / static_cast<double>(plan_.tokens_per_step());
  }
  LocalStepReport step_report = empty_report();
  if (runtime_.local().counts_samples()) step_report.data_digest = digest;
  if (runtime_.local().counts_targets()) step_report.head_digest = digest;
  Decision decision;
  parallel::StepHooks hooks = loss_hooks();
  if (qk_clip_) {
    qk_clip_->start_step();
    hooks.max_scores = [&](int unit) { return qk_clip_->max_scores(unit); };
  }
  hooks.control = [&] {
    add_squared_norm();
    drain_sums(step_report);
    if (qk_clip_) step_report.max_scores = qk_clip_->all_scores();
    if (report) report(step_report);
    if (targets_vary_ && runtime_.local().counts_targets())
      step_report.next_targets = loader_.num_targets_ahead();
    runtime_.storage().ranks().exposed_time().measure([&] { step_report.all_reduce(control_); });
    check_same_data(step_report);
    if (targets_vary_) next_targets_ = step_report.next_targets;
    decision = decide(step_report, targets, plan_.clip_norm, loss_scale_.value, auxiliary_losses_,
                      plan_.tokens_per_step());
    decision.targets = num_targets;
    if (qk_clip_) decision.attention = qk_clip_->summarize(step_report.max_scores);
    adjust_loss_scale(decision);
  };
  hooks.step = [&] {
    if (decision.finite && !decision.superseded)
      take_optimizer_step(plan_.schedule.at(step), decision.grad_scale, step_report.max_scores);
  };
  runtime_.executor().run(actions_, micro_batches.list(),
                          static_cast<int>(runtime_.lanes().first_micro_batch()), hooks);
  if (!decision.finite && !decision.skip && !decision.superseded)
    first_non_finite_ =
        locate_first_non_finite(plan_, runtime_, micro_batches.list(), state_.samples_consumed, control_);
  return decision;
}

parallel::StepHooks Stepper::loss_hooks() {
  parallel::StepHooks hooks;
  if (runtime_.local().counts_loss()) hooks.loss = [&](int, const Tensor& nll_R) { sums_.add(nll, nll_R); };
  if (auxiliary_losses_.empty()) return hooks;
  // Ranks that share layers all compute the terms, and may exchange for them.
  hooks.auxiliary = [&](int unit, int, const Tensor& auxiliary_AR) {
    if (!runtime_.local().counts_auxiliary_losses()) return;
    const std::vector<model::AuxiliaryLoss> losses = runtime_.auxiliary_losses(unit);
    for (std::size_t row = 0; row < losses.size(); ++row) {
      const auto sum = std::ranges::find(auxiliary_losses_, losses[row]) - auxiliary_losses_.begin();
      DT_CHECK(sum < std::ssize(auxiliary_losses_), "unit {} has a loss '{}' that the model lacks", unit,
               losses[row].name);
      const auto first = static_cast<std::int64_t>(row) * auxiliary_AR.dim(1);
      sums_.add(first_auxiliary + static_cast<int>(sum), auxiliary_AR.flat(first, auxiliary_AR.dim(1)));
    }
  };
  return hooks;
}

void Stepper::drain_sums(LocalStepReport& report) {
  std::vector<ExactSum*> sums{&report.nll, &report.squared_norm};
  for (ExactSum& sum : report.auxiliary) sums.push_back(&sum);
  sums_.drain_into(sums);
}

void Stepper::add_squared_norm() {
  const parallel::LocalTable& local = runtime_.local();
  for (int group = 0; group < runtime_.storage().num_groups(); ++group) {
    if (local.group(group).counted_ranges.empty()) continue;
    parallel::add_squared_norm(runtime_.context(), local.group(group),
                               runtime_.storage().group_gradient(group), sums_, squared_norm);
  }
}

void Stepper::adjust_loss_scale(Decision& decision) {
  if (!plan_.loss_scale || decision.superseded || !std::isfinite(decision.total_loss())) return;
  if (decision.finite) {
    optim::grow(*plan_.loss_scale, loss_scale_);
  } else if (optim::back_off(*plan_.loss_scale, loss_scale_)) {
    decision.skip = true;
    state_.skipped_steps += 1;
  }
  state_.loss_scale = loss_scale_.value;
  state_.loss_scale_good_steps = loss_scale_.good_steps;
}

void Stepper::take_optimizer_step(double lr, double grad_scale, std::span<const double> max_scores) {
  const kernels::OptimizerStep step{.settings = plan_.optimizer,
                                    .lr = lr,
                                    .step = state_.step + 1 - state_.skipped_steps,
                                    .grad_scale = grad_scale,
                                    .rounding_key = rounding_key_};
  weight_update_.run(step, plan_.schedule.lr, [&] {
    if (qk_clip_) qk_clip_->scale_weights(max_scores);
  });
}

}  // namespace dt::train
