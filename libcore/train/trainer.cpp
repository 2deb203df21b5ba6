#include "train/trainer.hpp"

#include "base/error.hpp"
#include "base/host.hpp"
#include "checkpoint/writer.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/linear.hpp"
#include "parallel/builders.hpp"
#include "parallel/validator.hpp"
#include "train/checkpoint_header.hpp"
#include "train/evaluation.hpp"
#include "train/state_io.hpp"

namespace dt::train {

namespace {

/// Long enough for a stable figure, short beside any real start.
constexpr double matmul_measurement_s = 0.5;

std::vector<std::vector<optim::Segment>> segments_of(const model::ParameterTable& table) {
  std::vector<std::vector<optim::Segment>> segments;
  for (const model::GroupSpec& group : table.groups()) {
    std::vector<optim::Segment>& list = segments.emplace_back();
    for (std::size_t i = 0; i < group.params.size(); ++i) {
      const model::ParamSpec& param = table.params()[static_cast<std::size_t>(group.params[i])];
      list.push_back({group.offsets[i], param.shape.numel(), param.decays});
    }
  }
  return segments;
}

std::uint64_t folder_bytes(const fs::path& folder) {
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder)) bytes += entry.file_size();
  return bytes;
}

/// Whether a generation's `continues` names a checkpoint of its own run, not a path or nothing.
bool is_own_name(const std::string& continues) {
  return checkpoint::parse_checkpoint_name(continues) && continues.find('/') == std::string::npos;
}

}  // namespace

Trainer::Trainer(const Settings& settings, const data::TokenDataset& dataset,
                 const checkpoint::RunDirectory& run, const checkpoint::Generation& generation, Start& start,
                 const StopSignals& signals, Console& console)
    : settings_(settings),
      dataset_(dataset),
      run_(run),
      generation_(generation),
      plan_(start.plan),
      runtime_(*start.runtime),
      state_(start.state),
      signals_(signals),
      console_(console),
      loader_(dataset, start.plan.seed, start.plan.sequence_length),
      reporter_(console, run.path() / "metrics.jsonl"),
      actions_(parallel::build_training_step(start.runtime->num_units(),
                                             static_cast<int>(start.plan.micro_batches_per_step))),
      segments_(segments_of(start.runtime->table())),
      saved_step_(is_own_name(generation.continues) ? start.state.step : -1) {
  parallel::validate_training_step(actions_, runtime_.num_units(),
                                   static_cast<int>(plan_.micro_batches_per_step));
  peak_flops_ = settings.peak_flops ? *settings.peak_flops
                                    : kernels::measure_matmul_rate(runtime_.context(), matmul_measurement_s);
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
  if (resumes && is_evaluation_missing(settings_, plan_, dataset_, run_, state_.step) && !evaluate()) {
    return save_and_stop(signals_.received());
  }
  while (state_.step < plan_.total_steps) {
    const Decision decision = train_step();
    if (!decision.finite) refuse_not_finite(decision);
    if (decision.stop) return save_and_stop(decision.stop_signal);
    const bool is_due = settings_.save_every > 0 && state_.step % settings_.save_every == 0;
    if (is_due || state_.step == plan_.total_steps) save();
    if (is_evaluation_due(settings_, plan_, dataset_, state_.step) && !evaluate()) {
      return save_and_stop(signals_.received());
    }
  }
  save();  // where the run began at its end, with another run's checkpoint
  stop("finished");
  return 0;
}

Decision Trainer::train_step() {
  if (interval_.steps == 0) interval_.started_s = monotonic_s();
  const double waited_before_s = loader_.wait_s();
  data::Batch batch = loader_.next(state_.samples_consumed, plan_.global_batch);
  const double data_wait_s = loader_.wait_s() - waited_before_s;

  const double compute_started_s = monotonic_s();
  const Decision decision = run_actions(batch);
  if (!decision.finite) return decision;
  state_.step += 1;
  state_.samples_consumed += static_cast<std::uint64_t>(plan_.global_batch);
  state_.tokens_consumed += static_cast<std::uint64_t>(plan_.tokens_per_step());
  state_.data_digest += data::batch_digest(batch.samples_B.data(), batch.tokens_BT.data(),
                                           batch.labels_BT.data(), batch.num_samples, batch.sequence_length);
  log_step(decision, data_wait_s, monotonic_s() - compute_started_s);
  return decision;
}

Decision Trainer::run_actions(data::Batch& batch) {
  const std::int64_t step = state_.step + 1;
  std::vector<model::MicroBatch> micro_batches = runtime_.micro_batches(batch, plan_.micro_batch);
  for (model::MicroBatch& m : micro_batches) {
    m.step = step;
    m.loss_scale = 1.0 / static_cast<double>(plan_.tokens_per_step());
  }
  StepReport step_report;
  Decision decision;
  parallel::StepHooks hooks;
  hooks.loss = [&](int, const Tensor& nll_R, std::span<std::byte>) {
    step_report.nll.add(nll_R.span<double>());
  };
  hooks.control = [&] {
    add_squared_norm(step_report);
    step_report.signal = signals_.received();
    step_report.output_failed = output_failure_ != nullptr;
    decision = decide(step_report, plan_.tokens_per_step(), plan_.clip_norm);
  };
  hooks.step = [&] {
    if (decision.finite) take_optimizer_step(plan_.schedule.at(step), decision.grad_scale);
  };
  runtime_.executor().run(actions_, micro_batches, hooks);
  return decision;
}

void Trainer::add_squared_norm(StepReport& report) {
  for (int group = 0; group < runtime_.storage().num_groups(); ++group) {
    const Tensor gradient = runtime_.storage().group_gradient(group);
    block_sums_.resize(static_cast<std::size_t>(kernels::num_sum_blocks(gradient.numel())));
    kernels::sum_squares_by_block(runtime_.context(), gradient, block_sums_);
    report.squared_norm.add(block_sums_);
  }
}

void Trainer::take_optimizer_step(double lr, double grad_scale) {
  parallel::ModelStorage& storage = runtime_.storage();
  for (int group = 0; group < storage.num_groups(); ++group) {
    optim::adamw(runtime_.context(), plan_.adamw, lr, state_.step + 1, grad_scale,
                 segments_[static_cast<std::size_t>(group)], storage.group_weights(group),
                 storage.group_gradient(group), storage.group_first_moment(group),
                 storage.group_second_moment(group));
  }
}

void Trainer::refuse_not_finite(const Decision& decision) {
  if (state_.step > 0) save();  // what was good is kept
  stop("not finite");
  throw Error(
      ErrorKind::input,
      fmt::format("step {}: loss {} and gradient norm {} are not both finite (samples {} to {})",
                  state_.step + 1, decision.loss, decision.grad_norm, state_.samples_consumed,
                  state_.samples_consumed + static_cast<std::uint64_t>(plan_.global_batch) - 1),
      fmt::format("the weights of step {} are kept; lower --lr or lengthen --warmup-steps", state_.step));
}

void Trainer::log_step(const Decision& decision, double data_wait_s, double compute_s) {
  interval_.steps += 1;
  interval_.data_wait_s += data_wait_s;
  interval_.compute_s += compute_s;
  if (state_.step % settings_.log_every != 0 && state_.step != plan_.total_steps) return;
  const auto steps = static_cast<double>(interval_.steps);
  const double step_s = (monotonic_s() - interval_.started_s) / steps;
  const double tokens_per_s = static_cast<double>(plan_.tokens_per_step()) / step_s;
  report([&] {
    reporter_.train({.step = state_.step,
                     .loss = decision.loss,
                     .lr = plan_.schedule.at(state_.step),
                     .grad_norm = decision.grad_norm,
                     .tokens = state_.tokens_consumed,
                     .step_s = step_s,
                     .tokens_per_s = tokens_per_s,
                     .mfu = plan_.flops_per_token() * tokens_per_s / peak_flops_,
                     .compute_s = interval_.compute_s / steps,
                     .exposed_comm_s = 0,
                     .data_wait_s = interval_.data_wait_s / steps,
                     .data_digest = state_.data_digest});
  });
  interval_ = {};
}

void Trainer::save() {
  if (saved_step_ == state_.step) return;
  const double started_s = monotonic_s();
  const fs::path path = checkpoint::write_checkpoint(
      run_.checkpoints_path(), checkpoint_header(plan_, state_, generation_), pieces_of(runtime_.storage()));
  const double elapsed_s = monotonic_s() - started_s;
  saved_step_ = state_.step;
  report([&] {
    reporter_.checkpoint({.step = state_.step,
                          .path = path.string(),
                          .bytes = folder_bytes(path),
                          .stall_s = elapsed_s,
                          .write_s = elapsed_s});
  });
  for (const fs::path& removed : run_.prune(generation_.number, settings_.keep_last, settings_.keep_every)) {
    console_.debug("removed {}", removed.string());
  }
}

bool Trainer::evaluate() {
  EvaluationRequest request{.sequence_length = plan_.sequence_length,
                            .micro_batch = plan_.micro_batch,
                            .max_windows = {},
                            .interrupted = [&] { return signals_.received() != 0; }};
  if (settings_.eval_batches)
    request.max_windows = static_cast<std::uint64_t>(*settings_.eval_batches * plan_.global_batch);
  const auto result = train::evaluate(runtime_, dataset_, request, console_);
  if (!result) return false;
  report(
      [&] { reporter_.eval({.step = state_.step, .val_loss = result->loss, .val_tokens = result->tokens}); });
  return true;
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
  console_.warn("{}: stopped after step {}; the run can go on", reason, state_.step);
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
  if (output_failure_) std::rethrow_exception(output_failure_);
}

}  // namespace dt::train
