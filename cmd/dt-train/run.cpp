#include "train/run.hpp"

#include <algorithm>
#include <cstdlib>
#include <signal.h>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "base/system/limits.hpp"
#include "base/system/signals.hpp"
#include "cmd/dt-train/options.hpp"
#include "comm/exchange.hpp"
#include "comm/mpi/launcher.hpp"
#include "comm/mpi/run_ranks.hpp"
#include "comm/mpi/world.hpp"
#include "comm/topology/host_order.hpp"
#include "equivalence/compare_layouts.hpp"
#include "equivalence/show_schedule.hpp"
#include "plan/launch.hpp"
#include "plan/precision.hpp"
#include "train/start/inherit_options.hpp"

namespace dt::train_tool {

namespace {

using plan::Settings;

/// Rejects --ranks under a launcher, since dt-train then plans for the ranks that the launcher
/// started.
/// Errors: usage.
void reject_planned_ranks(const Settings& s, const comm::Ranks& ranks) {
  if (!s.ranks || !comm::mpi::is_launched()) return;
  throw Error(ErrorKind::usage,
              fmt::format("--ranks {} plans without real ranks, but the launcher started {}", *s.ranks,
                          ranks.world.size()),
              "omit --ranks to plan for the started ranks, or run dt-train without a launcher");
}

plan::Launch launch_for_inheritance(const Settings& s, const comm::Ranks& ranks) {
  const int num_ranks = ranks.world.size();
  if (!s.ranks) return plan::find_launch(ranks.world, num_ranks);
  return {.num_ranks = static_cast<int>(*s.ranks),
          .ranks_per_node = static_cast<int>(s.ranks_per_node.value_or(*s.ranks))};
}

/// Returns the number of this process's threads as far as it is known before MPI starts: those of
/// its ranks, and MPI's own. MPI ends the process if it cannot start a thread.
int num_threads_expected(const Settings& s) {
  constexpr int of_mpi = 8;
  const std::string threads = "threads=";
  const bool has_thread_ranks = s.comm && s.comm->starts_with(threads);
  if (has_thread_ranks) return std::clamp(std::atoi(s.comm->c_str() + threads.size()), 1, 1024);
  const int ranks = comm::mpi::is_launched() ? launcher_local_size() : 1;
  const int share = ranks > 0 ? std::max(1, available_cores() / ranks) : 1;
  return static_cast<int>(s.threads.value_or(share)) + of_mpi;
}

}  // namespace

int run(const plan::Settings& settings, OptionTable& options, Console& console) {
  const StopSignals signals([&](int signal) {  // before MPI, which starts threads
    const bool is_alone = settings.comm && *settings.comm != "mpi" && *settings.comm != "nccl";
    if (launcher_rank() != 0 && !is_alone) return;
    const char* what = settings.eval_only || settings.compare_layouts ? "stopping" : "saving after this step";
    console.info("{}: {}{}", signal_name(signal), what,
                 signal == SIGINT ? "; send it again to exit at once" : "");
  });
  require_threads(num_threads_expected(settings));
  const auto work = [&](const comm::Ranks& ranks) {
    comm::run_collectively(ranks.world, [&] { reject_planned_ranks(settings, ranks); });
    train::inherit_options(settings, options, launch_for_inheritance(settings, ranks), ranks);
    comm::run_collectively(ranks.world, [&] {
      if (ranks.are_processes || ranks.is_root()) options.check_all();
      check_precision_and_weights(settings, options);
    });
    if (settings.eval_only) return train::evaluate_only(settings, options.values(), signals, ranks);
    if (settings.compare_layouts)
      return equivalence::compare_layouts(settings, options.values(), signals, ranks);
    if (settings.show_schedule) return equivalence::show_schedule(settings, ranks);
    if (settings.dry_run) return train::dry_run(settings, ranks);
    return train::run_training(settings, options.values(), signals, ranks);
  };
  const auto placed = [&](const comm::Ranks& ranks) {
    // in_host_order() is collective, so ranks call it even if they disagree about --placement.
    return comm::in_host_order(ranks, settings.placement == plan::RankOrder::hosts ? host_name() : "", work);
  };
  return comm::mpi::run_ranks(settings.comm, console, placed, comm::mpi::Threads::serialized, "--comm self");
}

}  // namespace dt::train_tool
