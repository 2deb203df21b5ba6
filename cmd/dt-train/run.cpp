#include "cmd/dt-train/run.hpp"

#include <signal.h>

#include "base/error.hpp"
#include "base/host.hpp"
#include "base/signals.hpp"
#include "comm/exchange.hpp"
#include "comm/host_order.hpp"
#include "comm/mpi/run_ranks.hpp"
#include "plan/launch.hpp"
#include "plan/precision.hpp"
#include "prove/compare_layouts.hpp"
#include "prove/show_schedule.hpp"
#include "train/dry_run.hpp"
#include "train/evaluate_only.hpp"
#include "train/inherit_options.hpp"
#include "train/run.hpp"

namespace dt::train_tool {

namespace {

using plan::Settings;

/// Error{usage}: options of which each alone would do.
void check_values(const Settings& s, const OptionTable& options) {
  plan::precision_of(s);
  if (s.eval_only && s.init_from && options.given("resume"))
    throw usage_error("--eval-only takes --init-from or --resume, not both");
}

}  // namespace

int run(const plan::Settings& settings, OptionTable& options, Console& console) {
  const StopSignals signals([&](int signal) {  // before MPI, which starts threads
    if (launched_rank() != 0) return;
    const char* what = settings.eval_only || settings.compare_layouts ? "stopping" : "saving after this step";
    console.info("{}: {}{}", signal_name(signal), what, signal == SIGINT ? "; again to end at once" : "");
  });
  const auto work = [&](const comm::Ranks& ranks) {
    train::inherit_options(settings, options, plan::find_launch(ranks.world, ranks.world.size()), ranks);
    comm::together(ranks.world, [&] {
      if (ranks.are_processes || ranks.is_first()) options.check_all();
      check_values(settings, options);
    });
    if (settings.eval_only) return train::evaluate_only(settings, options.values(), signals, ranks);
    if (settings.compare_layouts) return prove::compare_layouts(settings, options.values(), signals, ranks);
    if (settings.show_schedule) return prove::show_schedule(settings, ranks);
    if (settings.dry_run) return train::dry_run(settings, ranks);
    return train::run_training(settings, options.values(), signals, ranks);
  };
  return comm::mpi::run_ranks(settings.comm, console, [&](const comm::Ranks& ranks) {
    // Ranks that disagree about --placement still call the same.
    return comm::in_host_order(ranks, settings.placement == "hosts" ? host_name() : "", work);
  });
}

}  // namespace dt::train_tool
