#include <fmt/format.h>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"
#include "cmd/dt-train/options.hpp"
#include "plan/precision.hpp"
#include "plan/time/roofline.hpp"

namespace dt::train_tool {

void check_settings(const plan::Settings& s) {
  if (s.data.mixture.empty() && !s.dry_run && !s.show_schedule)
    throw Error(ErrorKind::usage, "--data is missing", "give a folder that dt-shard-data wrote");
  if (s.data.stage_dir && s.data.stage_dir->empty())
    throw Error(ErrorKind::usage, "--stage-dir names no folder", "give one on storage of each node's own");
  if (s.resume.run && s.resume.run->empty())
    throw Error(ErrorKind::usage, "--run '' names no folder", "name the run's folder");
  if (s.resume.from.empty()) throw usage_error("--resume '' is neither auto, never nor a checkpoint");
  if (s.logging.profile) plan::parse_step_range("--profile", *s.logging.profile);
  if (s.ranks && s.ranks_per_node && *s.ranks % *s.ranks_per_node != 0)
    throw Error(
        ErrorKind::usage,
        fmt::format("--ranks {} do not fill nodes of --ranks-per-node {}", *s.ranks, *s.ranks_per_node),
        fmt::format("give --ranks {}, whole nodes", round_up(*s.ranks, *s.ranks_per_node)));
  if (s.roofline && s.show_schedule) {
    plan::rates_of(*s.roofline);
    if (s.device == comm::DeviceRequest::cpu) throw usage_error("--roofline is of GPUs, and --device is cpu");
    if (s.resume.run)
      throw usage_error("--roofline works times out, and --run takes those that a run measured");
  }
  if (s.eval_only) return;
  const bool needs_no_run = s.dry_run || s.show_schedule || s.compare_layouts;
  if (int(s.dry_run) + int(s.show_schedule) + int(s.compare_layouts.has_value()) > 1)
    throw usage_error("give one of --dry-run, --show-schedule and --compare-layouts");
  if (!s.resume.run && !needs_no_run)
    throw Error(ErrorKind::usage, "--run is missing", "name the run's folder");
  const int ends = int(s.duration.steps.has_value()) + int(s.duration.tokens.has_value()) +
                   int(s.duration.epochs.has_value());
  if (ends != 1) {
    throw Error(ErrorKind::usage,
                ends == 0 ? "nothing says when to stop" : "several options say when to stop",
                "give one of --steps, --tokens and --epochs");
  }
  if (s.save.local_folder && s.save.local_folder->empty())
    throw Error(ErrorKind::usage, "--checkpoint-local names no folder",
                "give one on storage of each node's own");
  if (s.comm_timeout.seconds <= 0) throw usage_error("--comm-timeout must be more than 0");
  optim::resolve(s.optimizer);
}

void check_precision_and_weights(const plan::Settings& s, const OptionTable& options) {
  plan::precision_of(s);
  if (s.eval_only && s.resume.init_from && options.given("resume"))
    throw usage_error("--eval-only takes --init-from or --resume, not both");
}

}  // namespace dt::train_tool
