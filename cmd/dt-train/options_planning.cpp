// Plans and comparisons of layouts, which train nothing that is kept.

#include <fmt/ranges.h>

#include "cmd/dt-train/option_groups.hpp"
#include "plan/time/roofline.hpp"

namespace dt::train_tool {

using plan::Settings;

void add_planning(OptionTable& t, Settings& s) {
  const std::string planning = "--dry-run or --show-schedule";
  const auto is_planning = [&s] { return s.dry_run || s.show_schedule; };
  t.group("Proof")
      .add(
          "compare-layouts", &s.compare_layouts, "LIST",
          "make --steps steps under each layout and print how they differ from the first's; exit 5 where "
          "more than may be. Layouts apart by ';', of pp=, schedule=, virtual-stages=, stage-units= (such "
          "as 5+7+7+5), dp=, cp=, tp=, sp=on (the first pp × dp × cp × tp ranks), zero=, zero-group=, "
          "comm-bucket-bytes=, recompute=, micro-batch=, threads=, which default to this command's; of other "
          "stages than its, stage-units to those by FLOPs")
      .conflicts_with(evaluation)
      .add("show-schedule", &s.show_schedule,
           "draw what each stage does in a step, by predicted times or, with --run, those that it measured "
           "on CPUs, with the bubble, memory and bytes that ranks move; then what rank 0 does, an action a "
           "line")
      .conflicts_with(evaluation)
      .add("svg", &s.svg, "FILE", "with --show-schedule: draw into a picture, too")
      .require("--show-schedule", [&s] { return s.show_schedule; })
      .add("roofline", &s.roofline, "GPU",
           fmt::format(
               "with --show-schedule: print what a step's operations take on that GPU, without one, and "
               "the MFU that follows: {}",
               fmt::join(plan::gpu_rate_names(), ", ")))
      .require("--show-schedule", [&s] { return s.show_schedule; })
      .add("ranks", &s.ranks, "N",
           "plan for so many ranks, of which none is there; nothing of this machine is asked, --device cuda "
           "is a "
           "GPU a rank",
           1, plan::max_stages)
      .conflicts_with({"comm"}, "it starts the ranks that there are")
      .require(planning, is_planning)
      .add("ranks-per-node", &s.ranks_per_node, "M", "with --ranks: on each node; default: all on one", 1,
           plan::max_stages)
      .require("--ranks", [&s] { return s.ranks.has_value(); })
      .add("rank-flops", &s.forecast.rank_flops, "X",
           "FLOP/s that a rank is taken to compute in plans, such as 400T", 1)
      .use_decimal_units()
      .require("--dry-run, or --show-schedule without --run",
               [&s] { return s.dry_run || (s.show_schedule && !s.resume.run); })
      .add("link-bandwidth", &s.forecast.link_bandwidth, "X",
           "bytes/s that a rank is taken to send to another node in plans (dt-allreduce-bench measures it), "
           "such as 50G",
           1)
      .use_decimal_units()
      .require(planning, is_planning)
      .add("node-bandwidth", &s.forecast.node_bandwidth, "X",
           "the same within a node; default: --link-bandwidth", 1)
      .use_decimal_units()
      .require(planning, is_planning);
}

}  // namespace dt::train_tool
