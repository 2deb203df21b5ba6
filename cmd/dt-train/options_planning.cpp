// Plans and comparisons of layouts, which train nothing that is kept.

#include <fmt/ranges.h>

#include "cmd/dt-train/option_groups.hpp"
#include "plan/time/roofline.hpp"

namespace dt::train_tool {

using plan::Settings;

void add_planning(OptionTable& t, Settings& s) {
  const std::string planning = "--dry-run or --show-schedule";
  const auto is_planning = [&s] { return s.dry_run || s.show_schedule; };
  t.group("Planning and comparison")
      .add("compare-layouts", &s.compare_layouts, "LIST",
           "train --steps steps in each layout and compare the results; exit 5 if one breaks its guarantee")
      .details(
          "LIST separates layouts by ';', as in \"dp=1; dp=4,zero=3\". The first layout is the reference. A "
          "layout runs on the first pp × dp × cp × tp ranks.\n\n"
          "The keys are pp=, schedule=, virtual-stages=, stage-units= (such as 5+7+7+5), dp=, cp=, tp=, "
          "sp=on, zero=, zero-group=, comm-bucket-bytes=, recompute=, micro-batch= and threads=. An omitted "
          "dp takes all ranks; another omitted key has the value of the command's option. In a layout with "
          "another number of stages than the command, the default of stage-units is balanced by FLOPs.\n\n"
          "The column guarantee of the table says how far each layout may differ from the first. The exit "
          "code is 5 if one differs by more.")
      .conflicts_with(evaluation)
      .add("show-schedule", &s.show_schedule,
           "draw the pipeline schedule of a step, with times, bubble, memory and bytes sent")
      .details(
          "The drawing shows what each stage does in a step, with predicted times or, with --run, with the "
          "times that the run measured on CPUs. A list of the actions of rank 0 follows, one per line.")
      .conflicts_with(evaluation)
      .add("svg", &s.svg, "FILE", "with --show-schedule: also draw the schedule to an SVG file")
      .require("--show-schedule", [&s] { return s.show_schedule; })
      .add("roofline", &s.roofline, "GPU",
           fmt::format("with --show-schedule: predict operation times and MFU on a GPU: {}",
                       fmt::join(plan::gpu_rate_names(), ", ")))
      .details("The GPU need not be present.")
      .require("--show-schedule", [&s] { return s.show_schedule; })
      .add("ranks", &s.ranks, "N", "plan for this number of ranks, which need not exist", 1, plan::max_stages)
      .details(
          "The plan ignores the devices of this machine. With --device cuda it assumes one GPU per rank.")
      .conflicts_with({"comm"}, "--comm starts real ranks")
      .require(planning, is_planning)
      .add("ranks-per-node", &s.ranks_per_node, "M", "with --ranks: ranks per node; default: one node", 1,
           plan::max_stages)
      .require("--ranks", [&s] { return s.ranks.has_value(); })
      .add("rank-flops", &s.forecast.rank_flops, "X", "assumed FLOP/s of a rank in plans, such as 400T", 1)
      .use_decimal_units()
      .require("--dry-run, or --show-schedule without --run",
               [&s] { return s.dry_run || (s.show_schedule && !s.resume.run); })
      .add("link-bandwidth", &s.forecast.link_bandwidth, "X",
           "assumed bytes/s of a rank to other nodes in plans, such as 50G", 1)
      .details("dt-allreduce-bench measures it.")
      .use_decimal_units()
      .require(planning, is_planning)
      .add("node-bandwidth", &s.forecast.node_bandwidth, "X",
           "assumed bytes/s between ranks of a node in plans; default: --link-bandwidth", 1)
      .use_decimal_units()
      .require(planning, is_planning);
}

}  // namespace dt::train_tool
