#include <fmt/format.h>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"
#include "cmd/dt-train/options.hpp"
#include "plan/precision.hpp"
#include "plan/time/roofline.hpp"

namespace dt::train_tool {

void check_settings(const plan::Settings& s) {
  if (s.data.mixture.empty() && !s.dry_run && !s.show_schedule)
    throw Error(
        ErrorKind::usage, "--data is missing",
        s.resume.run && s.resume.from == "auto"
            ? fmt::format("give a dataset of dt-shard-data; {} holds no run to take it from", *s.resume.run)
            : "give a dataset of dt-shard-data; see --help");
  if (s.data.stage_dir && s.data.stage_dir->empty())
    throw Error(ErrorKind::usage, "--stage-dir is empty", "give a folder on node-local storage");
  if (s.resume.run && s.resume.run->empty())
    throw Error(ErrorKind::usage, "--run is empty", "give a run directory");
  if (s.resume.from.empty())
    throw Error(ErrorKind::usage, "--resume is empty", "expected auto, never or a checkpoint");
  if (s.logging.profile) plan::parse_step_range("--profile", *s.logging.profile);
  if (s.ranks && s.ranks_per_node && *s.ranks % *s.ranks_per_node != 0)
    throw Error(
        ErrorKind::usage,
        fmt::format("--ranks {} is not a multiple of --ranks-per-node {}", *s.ranks, *s.ranks_per_node),
        fmt::format("use --ranks {}", round_up(*s.ranks, *s.ranks_per_node)));
  if (s.roofline && s.show_schedule) {
    plan::rates_of(*s.roofline);
    if (s.device == comm::DeviceRequest::cpu)
      throw usage_error("--roofline predicts times on GPUs; it cannot be combined with --device cpu");
    if (s.resume.run)
      throw usage_error(
          "--roofline predicts times; it cannot be combined with --run, which takes measured ones");
  }
  if (s.eval_only) return;
  const bool needs_no_run = s.dry_run || s.show_schedule || s.compare_layouts;
  if (int(s.dry_run) + int(s.show_schedule) + int(s.compare_layouts.has_value()) > 1)
    throw usage_error("--dry-run, --show-schedule and --compare-layouts cannot be combined");
  if (!s.resume.run && !needs_no_run)
    throw Error(ErrorKind::usage, "--run is missing", "give a run directory");
  const int ends = int(s.duration.steps.has_value()) + int(s.duration.tokens.has_value()) +
                   int(s.duration.epochs.has_value());
  if (ends != 1) {
    throw Error(ErrorKind::usage, ends == 0 ? "the duration is missing" : "several durations were given",
                "give exactly one of --steps, --tokens and --epochs");
  }
  if (s.save.local_folder && s.save.local_folder->empty())
    throw Error(ErrorKind::usage, "--checkpoint-local is empty", "give a folder on node-local storage");
  if (s.comm_timeout.seconds <= 0) throw usage_error("--comm-timeout must be above 0");
  optim::resolve(s.optimizer);
}

void check_precision_and_weights(const plan::Settings& s, const OptionTable& options) {
  plan::precision_of(s);
  if (s.eval_only && s.resume.init_from && options.given("resume"))
    throw usage_error("--eval-only takes --init-from or --resume, not both");
}

}  // namespace dt::train_tool
