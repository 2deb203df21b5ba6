#include "train/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "comm/exchange.hpp"
#include "plan/memory/memory_fit.hpp"
#include "plan/time/unit_times_file.hpp"
#include "train/evaluate/evaluation.hpp"
#include "train/report/source_epochs.hpp"
#include "train/start/conditions.hpp"
#include "train/start/state_io.hpp"
#include "train/step/non_finite.hpp"
#include "train/step/weight_average.hpp"

namespace dt::train {

namespace {

/// Time between looks for a newer generation. A look takes a round trip to a network file system.
constexpr double supersession_check_interval_s = 2;

/// Returns whether a generation's `continues` names a checkpoint of its own run, not a path or
/// nothing.
bool names_own_checkpoint(const std::string& continues) {
  return checkpoint::parse_checkpoint_name(continues) && continues.find('/') == std::string::npos;
}

}  // namespace

Trainer::Trainer(const data::Mixture& dataset, const run::RunDirectory& run,
                 const run::Generation& generation, const run::RunLock* alive, Start& start,
                 const StopSignals& signals, const comm::Ranks& ranks)
    : dataset_(dataset),
      run_(run),
      generation_(generation),
      plan_(start.plan),
      runtime_(*start.runtime),
      state_(start.state),
      skipped_(start.skipped),
      signals_(signals),
      ranks_(ranks),
      reporter_(ranks.console, ranks.is_root() ? std::optional(run.path() / "metrics.jsonl") : std::nullopt,
                generation.number),
      stepper_(start.plan, *start.runtime, dataset, start.state, ranks.world),
      profiler_(start.plan, *start.runtime, run, generation, ranks),
      shared_target_(ranks, run, generation, {start.plan.save.keep_last, start.plan.save.keep_every}, alive),
      saver_(ranks, pieces_of_ranks(start.runtime->context(), start.runtime->storage()),
             start.plan.save.in_background, start.plan.save.writers_per_node),
      last_supersession_check_s_(monotonic_s()),
      saved_step_(names_own_checkpoint(generation.continues) ? start.state.step : -1),
      first_step_(start.state.step) {
  if (saved_step_ >= 0) newest_ = {saved_step_, generation.continues};
  peak_ = plan::find_peak_flops(plan_, runtime_.context(), ranks.world);
  if (plan_.save.local_folder)
    local_target_.emplace(
        ranks, run::LocalSettings{*plan_.save.local_folder, plan_.comm_timeout_s, plan_.save.encrypts_copies},
        run, generation, host_name(), alive);
}

int Trainer::run() {
  signals_.ignore_repeated_signals();
  const bool resumes = !generation_.continues.empty();
  report([&] {
    reporter_.event({.kind = resumes ? "resume" : "start",
                     .reason = resumes                  ? "checkpoint"
                               : plan_.resume.init_from ? "init-from"
                                                        : "new",
                     .step = state_.step,
                     .checkpoint = generation_.continues,
                     .skipped = skipped_});
  });
  std::int64_t evaluation_missing = 0;
  comm::on_root(ranks_, [&] {
    evaluation_missing = resumes && is_evaluation_missing(plan_, dataset_, run_, state_.step) ? 1 : 0;
  });
  if (comm::broadcast_number(ranks_.world, evaluation_missing) != 0) {
    if (const int signal = evaluate()) return save_and_stop(signal);
  }
  progress_.emplace(
      ranks_.console.progress("training", static_cast<std::uint64_t>(plan_.total_steps), "steps"));
  progress_->set_initial(static_cast<std::uint64_t>(state_.step));
  while (state_.step < plan_.total_steps) {
    const Decision decision = train_step();
    if (decision.superseded) run::throw_superseded(run_, generation_);
    if (!std::isfinite(decision.total_loss())) {
      reject_weights({decision.total_loss(), fmt::format("the loss of step {}", state_.step + 1)},
                     describe_non_finite(state_.step + 1, decision, stepper_.first_non_finite()));
    }
    if (!decision.finite && !decision.skip) reject_gradients(decision);
    if (decision.finite && decision.targets > 0) confirm_saved_weights(state_.step - 1);
    if (const auto saved = saver_.advance(decision.save)) report_checkpoint(*saved);
    if (decision.stop) return save_and_stop(decision.stop_signal);
    const bool is_due = plan_.save.every > 0 && state_.step % plan_.save.every == 0;
    const bool is_last = state_.step == plan_.total_steps;
    if (is_due || is_last) save(!is_last);
    if (is_evaluation_due(plan_, dataset_, state_.step)) {
      if (const int signal = evaluate()) return save_and_stop(signal);
    }
  }
  save();  // for a run that began at its end, with another run's checkpoint
  confirm_weights();
  stop("finished");
  return 0;
}

Decision Trainer::train_step() {
  if (interval_.steps == 0) interval_.started_s = monotonic_s();
  const double scale_before = stepper_.loss_scale().value;
  StepTimes times;
  profiler_.begin(state_.step + 1);
  const Decision decision = stepper_.step(
      [this](LocalStepReport& report) {
        report.signal = signals_.received();
        report.output_failed = output_failure_ != nullptr;
        report.superseded = is_superseded();
        report.save = saver_.progress();
        saver_.wait_until_copied();
      },
      times);
  if ((!decision.finite && !decision.skip) || decision.superseded) return decision;
  profiler_.end(times);
  warn_slow_attention();
  if (decision.skip) {
    ranks_.console.info(
        "step {}: gradients are not finite at loss scale {}: update skipped; loss scale is now {}",
        state_.step, scale_before, stepper_.loss_scale().value);
  }
  if (decision.targets == 0) {
    ranks_.console.info("step {}: none of its tokens is a target (--loss-on); loss and gradients are 0",
                        state_.step);
  }
  if (progress_) progress_->set_postfix(fmt::format("loss {:.4f}", decision.loss));
  log_step(decision, times);
  if (progress_) progress_->set(static_cast<std::uint64_t>(state_.step));
  if (state_.step == plan_.total_steps) progress_.reset();  // the rest has progress bars of its own
  return decision;
}

void Trainer::warn_slow_attention() {
  if (has_warned_slow_attention_ || plan_.device == Device::host()) return;
  has_warned_slow_attention_ = true;
  for (const std::string& line : attention_fallbacks_used(ranks_.world))
    ranks_.console.warn("attention uses slower kernels: {}", line);
}

bool Trainer::is_superseded() {
  if (!ranks_.is_root() || monotonic_s() - last_supersession_check_s_ < supersession_check_interval_s)
    return false;
  last_supersession_check_s_ = monotonic_s();
  return run_.is_superseded(generation_);
}

void Trainer::reject_gradients(const Decision& decision) {
  if (state_.step > 0) save();  // the weights are good; nothing is pruned for them
  std::string advice;
  comm::on_root(ranks_, [&] { advice = advise_on_gradients(collect_standing()); });
  stop("not finite");
  throw comm::SharedError(ErrorKind::input,
                          describe_non_finite(state_.step + 1, decision, stepper_.first_non_finite()),
                          comm::broadcast_text(ranks_.world, advice));
}

void Trainer::reject_weights(const run::NotFiniteLoss& found, const std::string& text) {
  finish_saving();
  std::string advice;
  comm::on_root(ranks_, [&] {
    mark_not_finite(found);
    advice = advise_on_weights(collect_standing());
  });
  stop("not finite");
  throw comm::SharedError(ErrorKind::input, text, comm::broadcast_text(ranks_.world, advice));
}

void Trainer::mark_not_finite(const run::NotFiniteLoss& found) {
  if (newest_.step != state_.step) return;
  try {
    run::mark_not_finite(run_.checkpoints_path() / newest_.name, found);
  } catch (const Error& error) {
    ranks_.console.warn("cannot mark {} as not finite: {}", newest_.name, error.message());
  }
}

TrainingStanding Trainer::collect_standing() const {
  TrainingStanding s;
  s.step = state_.step;
  s.first_step = first_step_;
  s.lr = plan_.learning_rate.peak;
  s.precision = plan_.precision.compute;
  s.init_from = plan_.resume.init_from.value_or("");
  if (plan_.loss_scale && plan_.loss_scale->fixed) s.fixed_loss_scale = stepper_.loss_scale().value;
  if (newest_.step == state_.step) s.checkpoint = (run_.checkpoints_path() / newest_.name).string();
  s.is_local = newest_.step == state_.step && newest_.is_local;
  if (!names_own_checkpoint(generation_.continues)) s.foreign_checkpoint = generation_.continues;
  std::int64_t older_step = -1;
  try {
    for (const checkpoint::CheckpointEntry& entry : run_.lineage()) {
      if (entry.step >= state_.step || !run::why_incomplete(entry.path).empty()) continue;
      s.older = entry.path.string();
      older_step = entry.step;
      break;
    }
  } catch (const Error&) {  // the message then lacks the older checkpoint
  }
  if (local_target_ && local_target_->confirmed_step() > older_step) {
    s.older = fmt::format("step {} on node-local storage", local_target_->confirmed_step());
    s.older_is_local = true;
  }
  return s;
}

void Trainer::confirm_saved_weights(std::int64_t step) {
  if (step <= proven_step_) return;
  proven_step_ = step;
  announce_targets();
  if (step != first_step_ || newest_.step != step || !ranks_.is_root()) return;
  try {
    run::clear_not_finite(run_.checkpoints_path() / newest_.name);  // another precision may have helped
  } catch (const Error& error) {
    ranks_.console.warn("cannot remove the not-finite mark of {}: {}", newest_.name, error.message());
  }
}

void Trainer::announce_targets() {
  shared_target_.confirm_weights(proven_step_);
  if (local_target_) local_target_->confirm_weights(proven_step_);
}

void Trainer::confirm_weights() {
  if (proven_step_ >= state_.step) return;
  const std::optional<double> loss = stepper_.forward_loss();
  if (!loss) return;
  const std::string found = fmt::format("the loss of the weights of step {}", state_.step);
  if (!std::isfinite(*loss)) reject_weights({*loss, found}, fmt::format("{} is {}", found, *loss));
  confirm_saved_weights(state_.step);
}

void Trainer::log_step(const Decision& decision, const StepTimes& times) {
  interval_.steps += 1;
  interval_.loss += decision.loss;
  interval_.data_wait_s += times.data_wait_s;
  interval_.compute_s += times.step_s - times.exposed_comm_s;
  interval_.exposed_comm_s += times.exposed_comm_s;
  if (state_.step % plan_.logging.every != 0 && state_.step != plan_.total_steps) return;
  const auto steps = static_cast<double>(interval_.steps);
  const double mean_step_s = (monotonic_s() - interval_.started_s) / steps;
  const double tokens_per_s = static_cast<double>(plan_.tokens_per_step()) / mean_step_s;
  std::vector<std::pair<std::string, double>> auxiliary;
  for (const AuxiliaryValue& one : decision.auxiliary) auxiliary.emplace_back(one.loss.name, one.value);
  report([&] {
    reporter_.train(
        {.step = state_.step,
         .loss = decision.loss,
         .auxiliary = std::move(auxiliary),
         .attention = decision.attention,
         .lr = plan_.schedule.at(state_.step),
         .grad_norm = decision.grad_norm,
         .tokens = state_.tokens_consumed,
         .targets = decision.targets,
         .step_s = mean_step_s,
         .tokens_per_s = tokens_per_s,
         .mfu = plan_.flops_per_token() * tokens_per_s / peak_.flops,
         .mfu_base = peak_.base,
         .compute_s = interval_.compute_s / steps,
         .exposed_comm_s = interval_.exposed_comm_s / steps,
         .data_wait_s = interval_.data_wait_s / steps,
         .data_digest = state_.data_digest,
         .loss_scale = plan_.loss_scale ? std::optional(stepper_.loss_scale().value) : std::nullopt,
         .sources = source_epochs(dataset_, plan_.sequence_length, state_.samples_consumed),
         .mean_loss = interval_.loss / steps});
  });
  interval_ = {};
}

void Trainer::save(bool goes_on) {
  finish_saving();
  if (saved_step_ == state_.step) return;
  const bool in_background = goes_on && plan_.save.in_background;
  const bool is_local = goes_on && is_local_due();
  run::SaveTarget& target = is_local ? static_cast<run::SaveTarget&>(*local_target_) : shared_target_;
  const bool is_on_gpus = plan_.device != Device::host();
  const auto products = is_on_gpus ? matmul_algorithms_used(ranks_.world) : std::vector<std::string>();
  saver_.begin(target, checkpoint_header(plan_, state_, generation_, products), in_background);
  if (!is_local) saved_step_ = state_.step;
  newest_ = {state_.step, checkpoint::checkpoint_name(state_.step, generation_.number), is_local};
  if (!in_background) finish_saving();
}

bool Trainer::is_local_due() const {
  return local_target_ && state_.step / plan_.save.every % plan_.save.flush_every != 0;
}

void Trainer::finish_saving() {
  if (saver_.is_under_way()) report_checkpoint(saver_.finish());
}

void Trainer::report_checkpoint(const run::SavedCheckpoint& saved) {
  report([&] {
    reporter_.checkpoint({.step = saved.step,
                          .path = saved.path.string(),
                          .bytes = saved.bytes,
                          .stall_s = saved.stall_s,
                          .write_s = saved.write_s,
                          .num_nodes = saved.num_nodes,
                          .num_without_copy = saved.num_without_copy});
  });
  announce_targets();  // a save in the background may end after the step that proves it
}

int Trainer::evaluate() {
  finish_saving();  // an evaluation may be long and has no decision points
  const EvaluationRequest request = evaluation_request(plan_, [&] { return signals_.received(); });
  const Evaluation result = train::evaluate(runtime_, dataset_, request, ranks_);
  if (result.stopped_by != 0) return result.stopped_by;
  std::optional<Evaluation> average;
  if (plan_.ema > 0) {
    activate(ActiveWeights::average, runtime_, plan_);
    average = train::evaluate(runtime_, dataset_, request, ranks_);
    activate(ActiveWeights::current, runtime_, plan_);
    if (average->stopped_by != 0) return average->stopped_by;
  }
  report([&] { reporter_.eval(eval_record(state_.step, result, average)); });
  if (result.tokens == 0) return 0;
  const std::string found = fmt::format("the validation loss of step {}", state_.step);
  if (!std::isfinite(result.loss))
    reject_weights({result.loss, found}, fmt::format("{} is {}", found, result.loss));
  // While training continues, the next step proves more: its gradients must be finite, too.
  if (state_.step >= plan_.total_steps) confirm_saved_weights(state_.step);
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
  if (local_target_)
    confirm_weights();  // only then may the nodes' checkpoints go; otherwise the next start proves it
  const char* reason = signal != 0 ? signal_name(signal) : "output cannot be written";
  ranks_.console.warn("{}: stopped after step {}; start again to resume", reason, state_.step);
  stop(reason);
  return exit_requeue;
}

void Trainer::record_unit_times() {
  if (plan_.device != Device::host()) return;  // unit times are the host's times
  parallel::UnitTimes& times = runtime_.executor().unit_times();
  comm::all_reduce_sum(ranks_.world, times.sums());
  if (!ranks_.is_root()) return;
  try {
    plan::write_unit_times(run_.path(), plan_, times);
  } catch (const Error& error) {  // no run may fail because of them
    ranks_.console.warn("cannot write the unit times: {}", error.what());
  }
}

void Trainer::stop(const char* reason) {
  // Checkpoints on nodes are older than the one just saved, if there was a save and its weights are
  // good.
  if (local_target_ && saved_step_ == state_.step && proven_step_ >= state_.step) local_target_->clear();
  shared_target_.finish_removal();
  if (local_target_) local_target_->finish_removal();
  report([&] {
    reporter_.event({.kind = "stop", .reason = reason, .step = state_.step, .checkpoint = {}});
    reporter_.close();
  });
  record_unit_times();
  announce_memory();
  comm::run_collectively(ranks_.world, [&] {
    if (output_failure_) std::rethrow_exception(output_failure_);
  });
}

void Trainer::announce_memory() const {
  if (plan_.device == Device::host() || !ranks_.is_root()) return;
  try {
    ranks_.console.info("{}", plan::describe_gpu_memory(plan_));
  } catch (const Error& error) {  // the run has ended in any case
    ranks_.console.warn("{}", error.message());
  }
}

}  // namespace dt::train
