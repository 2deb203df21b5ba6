#include "train/trainer.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/host.hpp"
#include "comm/exchange.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/linear.hpp"
#include "parallel/builders.hpp"
#include "parallel/validator.hpp"
#include "train/agreement.hpp"
#include "train/checkpoint_header.hpp"
#include "train/evaluation.hpp"
#include "train/save.hpp"

namespace dt::train {

namespace {

/// Long enough for a stable figure, short beside any real start.
constexpr double matmul_measurement_s = 0.5;

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

/// A look costs a network file system a round trip.
constexpr double look_for_newer_every_s = 2;

parallel::ActionList build_step(const parallel::StepShape& shape) {
  parallel::ActionList list = parallel::build_training_step(shape);
  parallel::validate_training_step(list, shape);
  return list;
}

/// Of all ranks together.
double measure_peak_flops(const Context& context, comm::Communicator& world) {
  double rate = kernels::measure_matmul_rate(context, context.multiply(), matmul_measurement_s);
  const Tensor value(&rate, DType::f64, Shape{1});
  world.all_reduce(value, value).wait();
  return rate;
}

/// Whether a generation's `continues` names a checkpoint of its own run, not a path or nothing.
bool is_own_name(const std::string& continues) {
  return checkpoint::parse_checkpoint_name(continues) && continues.find('/') == std::string::npos;
}

}  // namespace

Trainer::Trainer(const Settings& settings, const data::TokenDataset& dataset,
                 const checkpoint::RunDirectory& run, const checkpoint::Generation& generation, Start& start,
                 const StopSignals& signals, const comm::Ranks& ranks)
    : settings_(settings),
      dataset_(dataset),
      run_(run),
      generation_(generation),
      plan_(start.plan),
      runtime_(*start.runtime),
      state_(start.state),
      signals_(signals),
      ranks_(ranks),
      loader_(dataset, start.plan.seed, start.plan.sequence_length, start.plan.mask_documents),
      reporter_(ranks.console, ranks.is_first() ? std::optional(run.path() / "metrics.jsonl") : std::nullopt),
      actions_(build_step(step_shape(start.plan, start.runtime->num_units()))),
      segments_(segments_of(start.runtime->storage())),
      looked_for_newer_s_(monotonic_s()),
      saved_step_(is_own_name(generation.continues) ? start.state.step : -1) {
  peak_flops_ = settings.peak_flops ? *settings.peak_flops * plan_.place.dp
                                    : measure_peak_flops(runtime_.context(), ranks.world);
  if (!plan_.loss_scale) {  // an earlier start may have had one
    state_.loss_scale = 0;
    state_.loss_scale_good_steps = 0;
    return;
  }
  loss_scale_ = optim::initial_loss_scale(*plan_.loss_scale);
  if (!plan_.loss_scale->fixed && state_.loss_scale > 0)
    loss_scale_ = {.value = state_.loss_scale, .good_steps = state_.loss_scale_good_steps};
}

int Trainer::run() {
  const bool resumes = !generation_.continues.empty();
  report([&] {
    reporter_.event({.kind = resumes ? "resume" : "start",
                     .reason = resumes               ? "checkpoint"
                               : settings_.init_from ? "init-from"
                                                     : "new",
                     .step = state_.step,
                     .generation = generation_.number,
                     .checkpoint = generation_.continues});
  });
  std::int64_t evaluation_missing = 0;
  at_first(ranks_, [&] {
    evaluation_missing =
        resumes && is_evaluation_missing(settings_, plan_, dataset_, run_, state_.step) ? 1 : 0;
  });
  if (comm::broadcast_number(ranks_.world, evaluation_missing) != 0) {
    if (const int signal = evaluate()) return save_and_stop(signal);
  }
  while (state_.step < plan_.total_steps) {
    const Decision decision = train_step();
    if (decision.superseded) give_way(run_, generation_);
    if (!decision.finite && !decision.skip) refuse_not_finite(decision);
    if (decision.stop) return save_and_stop(decision.stop_signal);
    const bool is_due = settings_.save_every > 0 && state_.step % settings_.save_every == 0;
    if (is_due || state_.step == plan_.total_steps) save();
    if (is_evaluation_due(settings_, plan_, dataset_, state_.step)) {
      if (const int signal = evaluate()) return save_and_stop(signal);
    }
  }
  save();  // where the run began at its end, with another run's checkpoint
  stop("finished");
  return 0;
}

data::Batch Trainer::next_batch() {
  const auto first = static_cast<std::uint64_t>(runtime_.lanes().first_micro_batch() * plan_.micro_batch);
  const std::int64_t count = runtime_.lanes().num_micro_batches() * plan_.micro_batch;
  const std::uint64_t begin = state_.samples_consumed + first;
  return loader_.next(begin, count, begin + static_cast<std::uint64_t>(plan_.global_batch));
}

Decision Trainer::train_step() {
  if (interval_.steps == 0) interval_.started_s = monotonic_s();
  ranks_.world.engine().recorder().set_step(state_.step + 1);
  const double waited_before_s = loader_.wait_s();
  data::Batch batch = next_batch();
  const double data_wait_s = loader_.wait_s() - waited_before_s;

  const double started_s = monotonic_s();
  const double exposed_before_s = runtime_.executor().exposed_communication_s() + control_s_;
  const Decision decision = run_actions(batch);
  if ((!decision.finite && !decision.skip) || decision.superseded) return decision;
  state_.step += 1;
  state_.samples_consumed += static_cast<std::uint64_t>(plan_.global_batch);
  state_.tokens_consumed += static_cast<std::uint64_t>(plan_.tokens_per_step());
  state_.data_digest += decision.data_digest;
  log_step(decision, data_wait_s, monotonic_s() - started_s,
           runtime_.executor().exposed_communication_s() + control_s_ - exposed_before_s);
  return decision;
}

Decision Trainer::run_actions(data::Batch& batch) {
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
    step_report.signal = signals_.received();
    step_report.output_failed = output_failure_ != nullptr;
    step_report.superseded = is_superseded();
    const double combine_started_s = monotonic_s();
    step_report.combine(ranks_.world);
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

void Trainer::add_squared_norm(StepReport& report) {
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

bool Trainer::is_superseded() {
  if (!ranks_.is_first() || monotonic_s() - looked_for_newer_s_ < look_for_newer_every_s) return false;
  looked_for_newer_s_ = monotonic_s();
  return run_.is_superseded(generation_);
}

void Trainer::adjust_loss_scale(Decision& decision) {
  if (!plan_.loss_scale || decision.superseded || !std::isfinite(decision.loss)) return;
  const double scale = loss_scale_.value;
  if (decision.finite) {
    optim::grow(*plan_.loss_scale, loss_scale_);
  } else if (optim::back_off(*plan_.loss_scale, loss_scale_)) {
    decision.skip = true;
    state_.skipped_steps += 1;
    ranks_.console.info(
        "step {}: gradients are not finite at the loss scale {}: no update; the scale is now {}",
        state_.step + 1, scale, loss_scale_.value);
  }
  state_.loss_scale = loss_scale_.value;
  state_.loss_scale_good_steps = loss_scale_.good_steps;
}

void Trainer::take_optimizer_step(double lr, double grad_scale) {
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

void Trainer::refuse_not_finite(const Decision& decision) {
  if (state_.step > 0) save();  // what was good is kept
  stop("not finite");
  const auto samples = [&](std::int64_t first, std::int64_t count) {
    const std::uint64_t begin = state_.samples_consumed + static_cast<std::uint64_t>(first);
    return fmt::format("samples {} to {}", begin, begin + static_cast<std::uint64_t>(count) - 1);
  };
  std::string where = samples(0, plan_.global_batch);
  const std::int64_t first = runtime_.lanes().first_micro_batch() * plan_.micro_batch;
  const std::int64_t count = runtime_.lanes().num_micro_batches() * plan_.micro_batch;
  const std::vector<std::string> guilty = comm::gather_texts(
      ranks_.world,
      is_own_loss_finite_ ? "" : fmt::format("rank {}, {}", ranks_.world.rank(), samples(first, count)));
  const auto found =
      std::find_if(guilty.begin(), guilty.end(), [](const auto& text) { return !text.empty(); });
  if (found != guilty.end()) where = *found;
  throw comm::SharedError(
      ErrorKind::input,
      fmt::format("step {}: loss {} and gradient norm {} are not both finite ({})", state_.step + 1,
                  decision.loss, decision.grad_norm, where),
      fmt::format("the weights of step {} are kept; {}", state_.step,
                  plan_.loss_scale && std::isfinite(decision.loss)
                      ? fmt::format("lower --loss-scale, which is {}, or leave it out", loss_scale_.value)
                      : "lower --lr or lengthen --warmup-steps"));
}

void Trainer::log_step(const Decision& decision, double data_wait_s, double step_s, double exposed_comm_s) {
  interval_.steps += 1;
  interval_.data_wait_s += data_wait_s;
  interval_.compute_s += step_s - exposed_comm_s;
  interval_.exposed_comm_s += exposed_comm_s;
  if (state_.step % settings_.log_every != 0 && state_.step != plan_.total_steps) return;
  const auto steps = static_cast<double>(interval_.steps);
  const double mean_step_s = (monotonic_s() - interval_.started_s) / steps;
  const double tokens_per_s = static_cast<double>(plan_.tokens_per_step()) / mean_step_s;
  report([&] {
    reporter_.train({.step = state_.step,
                     .loss = decision.loss,
                     .lr = plan_.schedule.at(state_.step),
                     .grad_norm = decision.grad_norm,
                     .tokens = state_.tokens_consumed,
                     .step_s = mean_step_s,
                     .tokens_per_s = tokens_per_s,
                     .mfu = plan_.flops_per_token() * tokens_per_s / peak_flops_,
                     .compute_s = interval_.compute_s / steps,
                     .exposed_comm_s = interval_.exposed_comm_s / steps,
                     .data_wait_s = interval_.data_wait_s / steps,
                     .data_digest = state_.data_digest,
                     .loss_scale = plan_.loss_scale ? std::optional(loss_scale_.value) : std::nullopt});
  });
  interval_ = {};
}

void Trainer::save() {
  if (saved_step_ == state_.step) return;
  const double started_s = monotonic_s();
  const SavedCheckpoint saved = save_checkpoint(
      ranks_, run_, generation_, checkpoint_header(plan_, state_, generation_), runtime_.storage());
  const double elapsed_s = monotonic_s() - started_s;
  saved_step_ = state_.step;
  report([&] {
    reporter_.checkpoint({.step = state_.step,
                          .path = saved.path.string(),
                          .bytes = saved.bytes,
                          .stall_s = elapsed_s,
                          .write_s = elapsed_s});
  });
  at_first(ranks_, [&] {
    for (const fs::path& removed :
         run_.prune(generation_.number, settings_.keep_last, settings_.keep_every)) {
      ranks_.console.debug("removed {}", removed.string());
    }
  });
}

int Trainer::evaluate() {
  EvaluationRequest request{.sequence_length = plan_.sequence_length,
                            .mask_documents = plan_.mask_documents,
                            .micro_batch = plan_.micro_batch,
                            .max_windows = {},
                            .stop_signal = [&] { return signals_.received(); }};
  if (settings_.eval_batches)
    request.max_windows = static_cast<std::uint64_t>(*settings_.eval_batches * plan_.global_batch);
  const Evaluation result = train::evaluate(runtime_, dataset_, request, ranks_);
  if (result.stopped_by != 0) return result.stopped_by;
  report(
      [&] { reporter_.eval({.step = state_.step, .val_loss = result.loss, .val_tokens = result.tokens}); });
  return 0;
}

void Trainer::report(const std::function<void()>& write) {
  if (output_failure_) return;
  try {
    write();
  } catch (const Error&) {
    output_failure_ = std::current_exception();
  }
}

int Trainer::save_and_stop(int signal) {
  save();
  const char* reason = signal != 0 ? signal_name(signal) : "output cannot be written";
  ranks_.console.warn("{}: stopped after step {}; the run can go on", reason, state_.step);
  stop(reason);
  return exit_requeue;
}

void Trainer::stop(const char* reason) {
  report([&] {
    reporter_.event({.kind = "stop",
                     .reason = reason,
                     .step = state_.step,
                     .generation = generation_.number,
                     .checkpoint = {}});
  });
  comm::together(ranks_.world, [&] {
    if (output_failure_) std::rethrow_exception(output_failure_);
  });
}

}  // namespace dt::train
