#include "cmd/dt-train/run.hpp"

#include <array>
#include <signal.h>

#include "base/error.hpp"
#include "base/host.hpp"
#include "base/signals.hpp"
#include "comm/exchange.hpp"
#include "comm/mpi/run_ranks.hpp"
#include "prove/compare_layouts.hpp"
#include "prove/show_schedule.hpp"
#include "train/dry_run.hpp"
#include "train/evaluate_only.hpp"
#include "train/precision.hpp"
#include "train/run.hpp"

namespace dt::train_tool {

namespace {

using train::Settings;

/// Options that evaluation alone has no use for.
constexpr std::array training_only{"steps",
                                   "tokens",
                                   "epochs",
                                   "grad-lanes",
                                   "grad-dtype",
                                   "loss-scale",
                                   "recompute",
                                   "seed",
                                   "lr",
                                   "min-lr",
                                   "warmup-steps",
                                   "schedule",
                                   "decay-steps",
                                   "weight-decay",
                                   "beta1",
                                   "beta2",
                                   "adam-eps",
                                   "clip-norm",
                                   "dry-run",
                                   "lr-reference-batch",
                                   "zero",
                                   "zero-group",
                                   "comm-bucket-bytes",
                                   "show-schedule",
                                   "compare-layouts"};

/// Options that only training that keeps a run has a use for.
constexpr std::array of_kept_runs{"save-every",       "background-save", "checkpoint-writers-per-node",
                                  "checkpoint-local", "flush-every",     "keep-last",
                                  "keep-every",       "eval-every",      "log-every",
                                  "peak-flops"};

/// And those that evaluation has a use for, too.
constexpr std::array of_runs{"run", "resume", "eval-batches"};

/// Error{usage}: an option that would do nothing without another, or beside it.
void check_use(const Settings& s, const OptionTable& options) {
  train::precision_of(s);
  const auto needs = [&](const char* name, bool condition, const char* what) {
    if (options.given(name) && !condition) throw usage_error("--{} needs {}", name, what);
  };
  needs("logits-out", s.eval_only, "--eval-only");
  needs("logits-sequences", s.logits_out.has_value(), "--logits-out");
  needs("keep-every", s.keep_last.has_value(), "--keep-last");
  needs("background-save", s.save_every > 0, "--save-every");
  needs("checkpoint-local", s.save_every > 0, "--save-every");
  needs("flush-every", s.checkpoint_local.has_value(), "--checkpoint-local");
  if (s.checkpoint_local && s.checkpoint_writers_per_node)
    throw usage_error(
        "--checkpoint-writers-per-node has no use with --checkpoint-local: each rank writes its own");
  needs("decay-steps", s.schedule == "wsd", "--schedule wsd");
  needs("min-lr", s.schedule != "constant", "a schedule that falls");
  needs("zero-group", s.zero > 0 || s.compare_layouts, "--zero 1, 2 or 3");
  const auto refuse = [&](const auto& names, const char* with) {
    for (const char* name : names) {
      if (options.given(name)) throw usage_error("--{} has no use with --{}", name, with);
    }
  };
  if (s.compare_layouts || s.show_schedule) {
    const char* with = s.show_schedule ? "show-schedule" : "compare-layouts";
    refuse(of_runs, with);
    refuse(of_kept_runs, with);
  }
  if (!s.eval_only) return;
  refuse(training_only, "eval-only");
  refuse(of_kept_runs, "eval-only");
  if (s.init_from && options.given("resume"))
    throw usage_error("--eval-only takes --init-from or --resume, not both");
}

}  // namespace

int run(const train::Settings& settings, const OptionTable& options, Console& console) {
  const StopSignals signals([&](int signal) {  // before MPI, which starts threads
    if (launched_rank() != 0) return;
    const char* what = settings.eval_only || settings.compare_layouts ? "stopping" : "saving after this step";
    console.info("{}: {}{}", signal_name(signal), what, signal == SIGINT ? "; again to end at once" : "");
  });
  return comm::mpi::run_ranks(settings.comm, console, [&](const comm::Ranks& ranks) {
    comm::together(ranks.world, [&] { check_use(settings, options); });
    if (settings.eval_only) return train::evaluate_only(settings, options.values(), signals, ranks);
    if (settings.compare_layouts) return prove::compare_layouts(settings, options.values(), signals, ranks);
    if (settings.show_schedule) return prove::show_schedule(settings, ranks);
    if (settings.dry_run) return train::dry_run(settings, ranks);
    return train::run_training(settings, options.values(), signals, ranks);
  });
}

}  // namespace dt::train_tool
