#include "train/trainer.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/host.hpp"
#include "comm/exchange.hpp"
#include "kernels/linear.hpp"
#include "plan/memory_fit.hpp"
#include "plan/unit_times_file.hpp"
#include "tensor/host_tensor.hpp"
#include "train/checkpoint_header.hpp"
#include "train/evaluation.hpp"
#include "train/gpu_products.hpp"
#include "train/non_finite.hpp"
#include "train/state_io.hpp"

namespace dt::train {

namespace {

/// Long enough for a stable figure, short beside any real start.
constexpr double matmul_measurement_s = 0.5;

/// A look costs a network file system a round trip.
constexpr double look_for_newer_every_s = 2;

/// Of all ranks together.
double measure_peak_flops(const Context& context, DType dtype, comm::Communicator& world) {
  double rate = context.device() == Device::host()
                    ? kernels::measure_matmul_rate(context, context.arithmetic(), matmul_measurement_s)
                    : kernels::measure_gpu_matmul_rate(context, dtype, matmul_measurement_s);
  const Tensor value = host_tensor(rate);
  world.all_reduce(value, value).wait_host();
  return rate;
}

/// Whether a generation's `continues` names a checkpoint of its own run, not a path or nothing.
bool is_own_name(const std::string& continues) {
  return checkpoint::parse_checkpoint_name(continues) && continues.find('/') == std::string::npos;
}

}  // namespace

Trainer::Trainer(const plan::Settings& settings, const data::Mixture& dataset, const run::RunDirectory& run,
                 const run::Generation& generation, Start& start, const StopSignals& signals,
                 const comm::Ranks& ranks)
    : settings_(settings),
      dataset_(dataset),
      run_(run),
      generation_(generation),
      plan_(start.plan),
      runtime_(*start.runtime),
      state_(start.state),
      passed_over_(start.passed_over),
      signals_(signals),
      ranks_(ranks),
      reporter_(ranks.console, ranks.is_first() ? std::optional(run.path() / "metrics.jsonl") : std::nullopt),
      stepper_(start.plan, *start.runtime, dataset, start.state, ranks.world),
      profiler_(settings, start.plan, *start.runtime, run, generation, ranks),
      shared_target_(ranks, run, generation, {settings.keep_last, settings.keep_every}),
      saver_(ranks, shares_of(start.runtime->context(), start.runtime->storage()),
             start.plan.saves_in_background, start.plan.writers_per_node),
      looked_for_newer_s_(monotonic_s()),
      saved_step_(is_own_name(generation.continues) ? start.state.step : -1) {
  peak_flops_ = settings.peak_flops
                    ? *settings.peak_flops * plan_.layout.size()
                    : measure_peak_flops(runtime_.context(), plan_.precision.compute, ranks.world);
  if (settings.checkpoint_local)
    local_target_.emplace(ranks, *settings.checkpoint_local, run, generation, settings.comm_timeout.seconds);
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
                     .checkpoint = generation_.continues,
                     .passed_over = passed_over_});
  });
  std::int64_t evaluation_missing = 0;
  comm::at_first(ranks_, [&] {
    evaluation_missing =
        resumes && is_evaluation_missing(settings_, plan_, dataset_, run_, state_.step) ? 1 : 0;
  });
  if (comm::broadcast_number(ranks_.world, evaluation_missing) != 0) {
    if (const int signal = evaluate()) return save_and_stop(signal);
  }
  while (state_.step < plan_.total_steps) {
    const Decision decision = train_step();
    if (decision.superseded) run::give_way(run_, generation_);
    if (!decision.finite && !decision.skip) refuse_not_finite(decision);
    if (const auto saved = saver_.advance(decision.save)) announce(*saved);
    if (decision.stop) return save_and_stop(decision.stop_signal);
    const bool is_due = settings_.save_every > 0 && state_.step % settings_.save_every == 0;
    const bool is_last = state_.step == plan_.total_steps;
    if (is_due || is_last) save(!is_last);
    if (is_evaluation_due(settings_, plan_, dataset_, state_.step)) {
      if (const int signal = evaluate()) return save_and_stop(signal);
    }
  }
  save();  // where the run began at its end, with another run's checkpoint
  stop("finished");
  return 0;
}

Decision Trainer::train_step() {
  if (interval_.steps == 0) interval_.started_s = monotonic_s();
  const double scale_before = stepper_.loss_scale().value;
  StepTimes times;
  profiler_.begin(state_.step + 1);
  const Decision decision = stepper_.step(
      [this](StepReport& report) {
        report.signal = signals_.received();
        report.output_failed = output_failure_ != nullptr;
        report.superseded = is_superseded();
        report.save = saver_.progress();
        saver_.let_change();
      },
      times);
  if ((!decision.finite && !decision.skip) || decision.superseded) return decision;
  profiler_.end(times);
  if (decision.skip) {
    ranks_.console.info(
        "step {}: gradients are not finite at the loss scale {}: no update; the scale is now {}", state_.step,
        scale_before, stepper_.loss_scale().value);
  }
  log_step(decision, times);
  return decision;
}

bool Trainer::is_superseded() {
  if (!ranks_.is_first() || monotonic_s() - looked_for_newer_s_ < look_for_newer_every_s) return false;
  looked_for_newer_s_ = monotonic_s();
  return run_.is_superseded(generation_);
}

void Trainer::refuse_not_finite(const Decision& decision) {
  if (state_.step > 0) save();  // what was good is kept
  stop("not finite");
  throw comm::SharedError(
      ErrorKind::input, describe_not_finite(state_.step + 1, decision, stepper_.not_finite()),
      fmt::format(
          "the weights of step {} are kept; {}", state_.step,
          plan_.loss_scale && std::isfinite(decision.loss)
              ? fmt::format("lower --loss-scale, which is {}, or leave it out", stepper_.loss_scale().value)
              : "lower --lr or lengthen --warmup-steps"));
}

void Trainer::log_step(const Decision& decision, const StepTimes& times) {
  interval_.steps += 1;
  interval_.data_wait_s += times.data_wait_s;
  interval_.compute_s += times.step_s - times.exposed_comm_s;
  interval_.exposed_comm_s += times.exposed_comm_s;
  if (state_.step % settings_.log_every != 0 && state_.step != plan_.total_steps) return;
  const auto steps = static_cast<double>(interval_.steps);
  const double mean_step_s = (monotonic_s() - interval_.started_s) / steps;
  const double tokens_per_s = static_cast<double>(plan_.tokens_per_step()) / mean_step_s;
  report([&] {
    reporter_.train(
        {.step = state_.step,
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
         .loss_scale = plan_.loss_scale ? std::optional(stepper_.loss_scale().value) : std::nullopt,
         .sources = source_shares(dataset_, plan_.sequence_length, state_.samples_consumed)});
  });
  interval_ = {};
}

void Trainer::save(bool goes_on) {
  finish_saving();
  if (saved_step_ == state_.step) return;
  const bool in_background = goes_on && plan_.saves_in_background;
  const bool is_local = goes_on && is_local_due();
  run::SaveTarget& target = is_local ? static_cast<run::SaveTarget&>(*local_target_) : shared_target_;
  const bool is_on_gpus = plan_.device != Device::host();
  const auto products = is_on_gpus ? gpu_products(ranks_.world) : std::vector<std::string>();
  saver_.begin(target, checkpoint_header(plan_, state_, generation_, products), in_background);
  if (!is_local) saved_step_ = state_.step;
  if (!in_background) finish_saving();
}

bool Trainer::is_local_due() const {
  return local_target_ && state_.step / settings_.save_every % settings_.flush_every != 0;
}

void Trainer::finish_saving() {
  if (saver_.is_under_way()) announce(saver_.finish());
}

void Trainer::announce(const run::SavedCheckpoint& saved) {
  report([&] {
    reporter_.checkpoint({.step = saved.step,
                          .path = saved.path.string(),
                          .bytes = saved.bytes,
                          .stall_s = saved.stall_s,
                          .write_s = saved.write_s,
                          .num_nodes = saved.num_nodes});
  });
  for (const fs::path& removed : saved.removed) ranks_.console.debug("removed {}", removed.string());
  if (!saved.why_not_removed.empty()) ranks_.console.warn("old checkpoints stay: {}", saved.why_not_removed);
}

int Trainer::evaluate() {
  finish_saving();  // an evaluation may be long, and has no decision points
  const EvaluationRequest request = evaluation_request(settings_, plan_, [&] { return signals_.received(); });
  const Evaluation result = train::evaluate(runtime_, dataset_, request, ranks_);
  if (result.stopped_by != 0) return result.stopped_by;
  report([&] {
    reporter_.eval({.step = state_.step,
                    .val_loss = result.loss,
                    .val_tokens = result.tokens,
                    .sources = result.sources});
  });
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

void Trainer::record_unit_times() {
  if (plan_.device != Device::host()) return;  // they are of the host's time
  parallel::UnitTimes& times = runtime_.executor().unit_times();
  comm::all_sum(ranks_.world, times.sums());
  if (!ranks_.is_first()) return;
  try {
    plan::write_unit_times(run_.path(), plan_, times);
  } catch (const Error& error) {  // which no run may fail for
    ranks_.console.warn("no times of units are kept: {}", error.what());
  }
}

void Trainer::stop(const char* reason) {
  // What the nodes hold is older than what was just saved, where anything was.
  if (local_target_ && saved_step_ == state_.step) local_target_->clear();
  report([&] {
    reporter_.event({.kind = "stop",
                     .reason = reason,
                     .step = state_.step,
                     .generation = generation_.number,
                     .checkpoint = {}});
    reporter_.close();
  });
  record_unit_times();
  tell_memory();
  comm::together(ranks_.world, [&] {
    if (output_failure_) std::rethrow_exception(output_failure_);
  });
}

void Trainer::tell_memory() const {
  if (plan_.device == Device::host() || !ranks_.is_first()) return;
  try {
    ranks_.console.info("{}", plan::describe_gpu_memory(plan_));
  } catch (const Error& error) {  // the run has ended all the same
    ranks_.console.warn("{}", error.message());
  }
}

}  // namespace dt::train
