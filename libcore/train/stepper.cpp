#include "train/stepper.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/host.hpp"
#include "kernels/elementwise.hpp"
#include "parallel/builders.hpp"
#include "parallel/validator.hpp"

namespace dt::train {

namespace {

/// Of what this rank holds of each group.
std::vector<std::vector<optim::Segment>> segments_of(const parallel::ModelStorage& storage) {
  std::vector<std::vector<optim::Segment>> segments;
  for (int index = 0; index < storage.num_groups(); ++index) {
    const model::GroupSpec& group = storage.table().groups()[static_cast<std::size_t>(index)];
    const comm::Part own = storage.own(index);
    std::vector<optim::Segment>& list = segments.emplace_back();
    for (std::size_t i = 0; i < group.params.size(); ++i) {
      const Piece piece = storage.piece_of(group.params[i]);
      const model::ParamSpec& param = storage.table().params()[static_cast<std::size_t>(group.params[i])];
      if (piece.numel() > 0)
        list.push_back({group.offsets[i] + piece.begin - own.begin, piece.numel(), param.decays});
    }
  }
  return segments;
}

parallel::ActionList build_step(const parallel::StepShape& shape) {
  parallel::ActionList list = parallel::build_training_step(shape);
  parallel::validate_training_step(list, shape);
  return list;
}

}  // namespace

Stepper::Stepper(const Plan& plan, ModelRuntime& runtime, const data::TokenDataset& dataset,
                 checkpoint::TrainingState& state, comm::Communicator& world)
    : plan_(plan),
      runtime_(runtime),
      state_(state),
      world_(world),
      loader_(dataset, plan.seed, plan.sequence_length, plan.mask_documents),
      actions_(build_step(step_shape(plan, runtime.num_units()))),
      segments_(segments_of(runtime.storage())) {
  if (!plan_.loss_scale) {  // an earlier start may have had one
    state_.loss_scale = 0;
    state_.loss_scale_good_steps = 0;
    return;
  }
  loss_scale_ = optim::initial_loss_scale(*plan_.loss_scale);
  if (!plan_.loss_scale->fixed && state_.loss_scale > 0)
    loss_scale_ = {.value = state_.loss_scale, .good_steps = state_.loss_scale_good_steps};
}

Decision Stepper::step(const std::function<void(StepReport&)>& report, StepTimes& times) {
  world_.engine().recorder().set_step(state_.step + 1);
  const double waited_before_s = loader_.wait_s();
  data::Batch batch = next_batch();
  times.data_wait_s = loader_.wait_s() - waited_before_s;

  const double started_s = monotonic_s();
  const double exposed_before_s = exposed_communication_s();
  const Decision decision = run_actions(batch, report);
  times.step_s = monotonic_s() - started_s;
  times.exposed_comm_s = exposed_communication_s() - exposed_before_s;
  if ((!decision.finite && !decision.skip) || decision.superseded) return decision;
  state_.step += 1;
  state_.samples_consumed += static_cast<std::uint64_t>(plan_.global_batch);
  state_.tokens_consumed += static_cast<std::uint64_t>(plan_.tokens_per_step());
  state_.data_digest += decision.data_digest;
  return decision;
}

double Stepper::exposed_communication_s() const {
  return runtime_.executor().exposed_communication_s() + control_s_;
}

data::Batch Stepper::next_batch() {
  const auto first = static_cast<std::uint64_t>(runtime_.lanes().first_micro_batch() * plan_.micro_batch);
  const std::int64_t count = runtime_.lanes().num_micro_batches() * plan_.micro_batch;
  const std::uint64_t begin = state_.samples_consumed + first;
  return loader_.next(begin, count, begin + static_cast<std::uint64_t>(plan_.global_batch));
}

Decision Stepper::run_actions(data::Batch& batch, const std::function<void(StepReport&)>& report) {
  const std::int64_t step = state_.step + 1;
  std::vector<model::MicroBatch> micro_batches = runtime_.micro_batches(batch, plan_.micro_batch);
  for (model::MicroBatch& m : micro_batches) {
    m.step = step;
    m.loss_scale = loss_scale_.value / static_cast<double>(plan_.tokens_per_step());
  }
  StepReport step_report;
  step_report.data_digest =
      data::batch_digest(batch.samples_B.data(), batch.tokens_BT.data(), batch.labels_BT.data(),
                         batch.num_samples, batch.sequence_length);
  Decision decision;
  parallel::StepHooks hooks;
  hooks.loss = [&](int, const Tensor& nll_R) { step_report.nll.add(nll_R.span<double>()); };
  hooks.control = [&] {
    is_own_loss_finite_ = std::isfinite(step_report.nll.value());
    add_squared_norm(step_report);
    if (report) report(step_report);
    const double combine_started_s = monotonic_s();
    step_report.combine(world_);
    control_s_ += monotonic_s() - combine_started_s;
    decision = decide(step_report, plan_.tokens_per_step(), plan_.clip_norm, loss_scale_.value);
    adjust_loss_scale(decision);
  };
  hooks.step = [&] {
    if (decision.finite && !decision.superseded)
      take_optimizer_step(plan_.schedule.at(step), decision.grad_scale);
  };
  runtime_.executor().run(actions_, micro_batches, static_cast<int>(runtime_.lanes().first_micro_batch()),
                          hooks);
  return decision;
}

void Stepper::add_squared_norm(StepReport& report) {
  const comm::Communicator* replicas = runtime_.storage().sharding().replicas;
  const int replica = replicas ? replicas->rank() : 0, num_replicas = replicas ? replicas->size() : 1;
  for (int group = 0; group < runtime_.storage().num_groups(); ++group) {
    const Tensor gradient = runtime_.storage().group_gradient(group);
    const comm::Part blocks = comm::part_of(replica, num_replicas, kernels::num_sum_blocks(gradient.numel()));
    if (blocks.count == 0) continue;
    const std::int64_t begin = blocks.begin * kernels::sum_block_elements;
    const std::int64_t end = std::min(begin + blocks.count * kernels::sum_block_elements, gradient.numel());
    block_sums_.resize(static_cast<std::size_t>(blocks.count));
    kernels::sum_squares_by_block(runtime_.context(), gradient.flat(begin, end - begin), block_sums_);
    report.squared_norm.add(block_sums_);
  }
}

void Stepper::adjust_loss_scale(Decision& decision) {
  if (!plan_.loss_scale || decision.superseded || !std::isfinite(decision.loss)) return;
  if (decision.finite) {
    optim::grow(*plan_.loss_scale, loss_scale_);
  } else if (optim::back_off(*plan_.loss_scale, loss_scale_)) {
    decision.skip = true;
    state_.skipped_steps += 1;
  }
  state_.loss_scale = loss_scale_.value;
  state_.loss_scale_good_steps = loss_scale_.good_steps;
}

void Stepper::take_optimizer_step(double lr, double grad_scale) {
  parallel::ModelStorage& storage = runtime_.storage();
  for (int group = 0; group < storage.num_groups(); ++group) {
    optim::adamw(runtime_.context(), plan_.adamw, lr, state_.step + 1 - state_.skipped_steps, grad_scale,
                 segments_[static_cast<std::size_t>(group)], storage.group_masters(group),
                 storage.group_gradient(group), storage.group_first_moment(group),
                 storage.group_second_moment(group),
                 storage.precision().has_masters() ? storage.group_weights(group) : Tensor());
  }
  storage.weights().changed();
}

}  // namespace dt::train
