#include "equivalence/show_schedule.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/io/atomic_files.hpp"
#include "base/text/text.hpp"
#include "comm/exchange.hpp"
#include "equivalence/show_roofline.hpp"
#include "parallel/schedule/drawing/drawing.hpp"
#include "parallel/schedule/validator.hpp"
#include "plan/action_lists.hpp"
#include "plan/memory/memory_estimate.hpp"
#include "plan/planner.hpp"
#include "plan/time/forecast.hpp"
#include "plan/time/roofline.hpp"
#include "plan/time/roofline_step.hpp"
#include "plan/time/unit_times_file.hpp"
#include "train/start/idle_ranks.hpp"
#include "train/start/start.hpp"

namespace dt::equivalence {

namespace {

using Json = nlohmann::ordered_json;

/// Validates the lists of all ranks. Of data-parallel ranks with equally many micro-batches, the first
/// stands for all.
void validate(plan::Plan plan, int num_units) {
  const parallel::Pipeline pipeline = pipeline_of(plan);
  std::vector<parallel::StepShape> shapes;
  std::vector<std::vector<parallel::ActionList>> of_dp;
  for (plan.place.dp = 0; plan.place.dp < plan.layout.dp; ++plan.place.dp) {
    const parallel::StepShape shape = step_shape(plan, num_units);
    const bool is_known = std::any_of(shapes.begin(), shapes.end(), [&](const parallel::StepShape& s) {
      return s.num_micro_batches == shape.num_micro_batches;
    });
    if (is_known) continue;
    shapes.push_back(shape);
    of_dp.push_back(parallel::build_training_steps(shape, pipeline));
  }
  std::vector<parallel::ActionList> lists;
  for (std::size_t stage = 0; stage < of_dp.front().size(); ++stage) {
    for (const auto& stages : of_dp) lists.push_back(stages[stage]);
  }
  parallel::validate_training_steps(lists, shapes, pipeline);
}

/// The parts of a plan that are shown.
struct ScheduleReport {
  const plan::Plan& plan;
  const model::ParameterTable& table;
  plan::Forecast forecast;
  std::vector<plan::MemoryEstimate> memory;
  bool is_measured = false;
  double bubble_of_schedule = 0;  // as if transfers took no time

  std::string unit_name(int unit) const {
    return unit < 0 ? std::string() : table.units()[static_cast<std::size_t>(unit)].name;
  }
  parallel::Drawing drawing() const {
    std::vector<std::string> names;
    for (const model::UnitSpec& unit : table.units()) names.push_back(unit.name);
    return {forecast.pipeline, forecast.lists, forecast.timeline, names};
  }
  model::StageUnits units() const {
    return parallel::stage_units_of(forecast.pipeline.stages, forecast.pipeline.schedule);
  }
  /// Returns the fraction of the step's time in which a stage does not compute.
  double idle(std::size_t stage) const {
    const double end_s = forecast.timeline.end_s();
    return end_s > 0 ? 1 - forecast.timeline.computing_s[stage] / end_s : 0;
  }
};

std::string bytes_text(std::int64_t bytes) {
  return bytes == 0 ? "0" : format_bytes(static_cast<std::uint64_t>(bytes));
}

std::string units_text(const ScheduleReport& shown, const std::vector<model::UnitRange>& ranges) {
  std::string text;
  for (const model::UnitRange& range : ranges) {
    if (!text.empty()) text += ", ";
    text += shown.unit_name(range.begin);
    if (range.end > range.begin + 1) text += " … " + shown.unit_name(range.end - 1);
  }
  return text;
}

void print_stages(const ScheduleReport& shown, Console& console) {
  std::vector<std::vector<std::string>> rows{{"stage", "units", "compute", "idle", "activations",
                                              "model state", "total memory", "weight all-gather",
                                              "gradient reduce", "pipeline sends"}};
  const bool shares = shown.plan.layout.tp * shown.plan.layout.cp > 1;
  if (shares) rows.front().push_back("TP/CP traffic");
  const model::StageUnits units = shown.units();
  for (std::size_t stage = 0; stage < units.size(); ++stage) {
    const plan::MemoryEstimate& memory = shown.memory[stage];
    const parallel::CommBytes& moved = shown.forecast.comm_bytes[stage];
    rows.push_back({std::to_string(stage), units_text(shown, units[stage]),
                    parallel::format_short_time(shown.forecast.timeline.computing_s[stage]),
                    fmt::format("{:.1f} %", 100 * shown.idle(stage)), format_bytes(memory.activations),
                    format_bytes(memory.storage.total()), format_bytes(memory.total()),
                    bytes_text(moved.weights), bytes_text(moved.weight_gradients),
                    bytes_text(moved.activations + moved.activation_gradients + moved.tied)});
    if (shares) rows.back().push_back(bytes_text(moved.layers));
  }
  console.print("{}", format_table(rows));
}

Json stage_line(const ScheduleReport& shown, std::size_t stage) {
  Json units = Json::array();
  const std::vector<model::UnitRange> ranges = shown.units()[stage];
  for (const model::UnitRange& range : ranges) {
    for (int unit = range.begin; unit < range.end; ++unit) units.push_back(shown.unit_name(unit));
  }
  const plan::MemoryEstimate& memory = shown.memory[stage];
  const parallel::CommBytes& moved = shown.forecast.comm_bytes[stage];
  return Json{{"kind", "stage"},
              {"stage", stage},
              {"units", units},
              {"computing_s", shown.forecast.timeline.computing_s[stage]},
              {"idle", shown.idle(stage)},
              {"activations_bytes", memory.activations},
              {"storage_bytes", memory.storage.total()},
              {"nccl_bytes", memory.nccl},
              {"memory_bytes", memory.total()},
              {"moved_bytes",
               {{"weights", moved.weights},
                {"weight_gradients", moved.weight_gradients},
                {"activations", moved.activations},
                {"activation_gradients", moved.activation_gradients},
                {"tied", moved.tied},
                {"layers", moved.layers}}}};
}

void print_json(const ScheduleReport& shown, Console& console) {
  for (std::size_t stage = 0; stage < shown.memory.size(); ++stage)
    console.print("{}\n", stage_line(shown, stage).dump());
  const Json step{{"kind", "step"},
                  {"times", shown.is_measured ? "measured" : "predicted"},
                  {"step_s", shown.forecast.timeline.end_s()},
                  {"bubble", shown.forecast.timeline.bubble_ratio()},
                  {"bubble_of_schedule", shown.bubble_of_schedule},
                  {"total_s", shown.forecast.timeline.end_s() * static_cast<double>(shown.plan.total_steps)}};
  console.print("{}\n", step.dump());
}

/// Returns where the times of computations are from.
std::string describe_times(const plan::Plan& plan, const plan::GpuRates* gpu) {
  if (plan.resume.run) return "compute times measured in " + *plan.resume.run;
  if (gpu) return fmt::format("compute times from the roofline of {}", gpu->name);
  return fmt::format("{:.3g} FLOP/s per rank (--rank-flops)", plan.forecast.rank_flops);
}

void print_text(const ScheduleReport& shown, const std::string& computing, plan::LinkBandwidths links,
                Console& console) {
  console.print("{}\n", draw_text(shown.drawing()));
  print_stages(shown, console);
  const double step_s = shown.forecast.timeline.end_s();
  console.print(
      "predicted step time: {} ({}; {:.3g} bytes/s within a node (--node-bandwidth), {:.3g} bytes/s between "
      "nodes (--link-bandwidth))\n",
      parallel::format_short_time(step_s), computing, links.within_node, links.between_nodes);
  console.print("predicted time of the run's {} steps: {}\n",
                format_count(static_cast<std::uint64_t>(shown.plan.total_steps)),
                format_duration(step_s * static_cast<double>(shown.plan.total_steps)));
  console.print(
      "bubble: {:.1f} % of the busiest stage's compute time; {:.1f} % without communication time\n\n",
      100 * shown.forecast.timeline.bubble_ratio(), 100 * shown.bubble_of_schedule);
}

void print_action(const ScheduleReport& shown, const parallel::Action& action, std::int64_t bytes,
                  Console& console) {
  const std::string name = shown.unit_name(action.unit);
  if (console.json()) {
    Json line{{"action", name_of(action.kind)}};
    if (action.unit >= 0) line["unit"] = name;
    if (action.micro_batch >= 0) line["micro_batch"] = action.micro_batch;
    if (action.transfers()) line["payload"] = name_of(action.payload);
    if (action.transfers()) line["stage"] = action.peer;
    line["bytes"] = bytes;
    return console.print("{}\n", line.dump());
  }
  const std::string to =
      action.transfers() ? fmt::format("  {}, stage {}", name_of(action.payload), action.peer) : "";
  const std::string text = fmt::format("{:<16} {:<12} {:>11} {:>10}{}", name_of(action.kind), name,
                                       action.micro_batch >= 0 ? std::to_string(action.micro_batch) : "",
                                       bytes > 0 ? format_bytes(static_cast<std::uint64_t>(bytes)) : "", to);
  console.print("{}\n", text.substr(0, text.find_last_not_of(' ') + 1));
}

/// Prints a list. Without --json or --verbose, prints only both ends of a long one.
void print_list(const ScheduleReport& shown, const parallel::ActionList& list,
                const std::vector<std::int64_t>& bytes, Console& console) {
  constexpr std::size_t shown_of_end = 20;
  const bool is_whole = console.json() || console.settings().verbose || list.size() <= 2 * shown_of_end + 1;
  if (!console.json())
    console.print("{:<16} {:<12} {:>11} {:>10}\n", "action", "unit", "micro-batch", "bytes");
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!is_whole && i == shown_of_end) {
      i = list.size() - shown_of_end;
      console.print("… {} more actions; --verbose or --json shows all\n", i - shown_of_end);
    }
    print_action(shown, list[i], bytes[i], console);
  }
}

/// Returns the model of --model, else that of the run whose times are drawn.
model::ModelSpec spec_to_draw(const plan::Settings& settings) {
  if (settings.resume.model || !settings.resume.run) return train::choose_spec(settings.resume, {});
  const run::RunDirectory run(*settings.resume.run);
  return train::choose_spec(settings.resume, train::resume_candidates(settings.resume, &run));
}

/// Returns the times of units: measured, those of --roofline's GPU, or by FLOPs.
std::vector<parallel::UnitCost> unit_times(const plan::Plan& plan, const plan::GpuRates* gpu) {
  if (plan.resume.run) return plan::read_unit_times(*plan.resume.run, plan);
  if (gpu) return plan::roofline_unit_times(plan, *gpu);
  return predicted_unit_times(plan, plan.forecast.rank_flops);
}

/// Returns the bandwidths of links that plans use: those of the options, and within nodes by default
/// those of --roofline's GPU.
plan::LinkBandwidths link_bandwidths(const plan::Plan& plan, const plan::GpuRates* gpu) {
  if (!gpu) return plan::link_bandwidths(plan.forecast);
  return {plan.forecast.node_bandwidth.value_or(gpu->link_bytes_s), plan.forecast.link_bandwidth};
}

void check_and_print(const plan::Settings& settings, const plan::Launch& launch, Console& console) {
  const plan::GpuRates* const gpu = settings.roofline ? &plan::rates_of(*settings.roofline) : nullptr;
  const std::optional<std::string> picture = settings.svg;
  if (picture) require_parent_folder(*picture);
  std::optional<data::Mixture> dataset;
  if (!settings.data.mixture.empty()) dataset.emplace(settings.data.mixture);
  const model::ModelSpec spec = spec_to_draw(settings);
  const plan::Plan plan = plan::Planner(settings, spec, dataset ? &*dataset : nullptr, launch).plan();
  const plan::LinkBandwidths links = link_bandwidths(plan, gpu);
  const model::ParameterTable table(spec);
  validate(plan, static_cast<int>(table.units().size()));
  const std::vector<parallel::UnitCost> times = unit_times(plan, gpu);
  const ScheduleReport shown{
      plan,
      table,
      forecast_step(plan, times, links),
      estimate_memory(plan),
      plan.resume.run.has_value(),
      forecast_step(plan, times, std::numeric_limits<double>::infinity()).timeline.bubble_ratio()};
  if (picture) write_file_atomically(*picture, draw_svg(shown.drawing()));
  const parallel::ActionList list = std::move(training_lists(plan).front());
  const std::vector<std::int64_t> bytes = plan::comm_bytes_per_action(plan, list);
  if (!console.json()) print_text(shown, describe_times(plan, gpu), links, console);
  print_list(shown, list, bytes, console);
  if (console.json()) print_json(shown, console);
  if (gpu) show_roofline(*gpu, links, plan, console);
  const std::int64_t total = std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
  console.info("rank 0 of {}: {} actions and {} of communication per step", plan.layout.size(), list.size(),
               format_bytes(static_cast<std::uint64_t>(total)));
}

/// Returns the settings with a simulated GPU for each rank if --roofline names one; otherwise
/// unchanged.
plan::Settings with_simulated_gpus(const plan::Settings& asked, int num_ranks) {
  plan::Settings settings = asked;
  if (!settings.roofline) return settings;
  settings.device = comm::DeviceRequest::cuda;
  if (!settings.ranks) settings.ranks = num_ranks;
  return settings;
}

}  // namespace

int show_schedule(const plan::Settings& asked, const comm::Ranks& ranks) {
  const plan::Settings settings = with_simulated_gpus(asked, ranks.world.size());
  const plan::Launch launch = train::find_used_launch(settings, ranks);
  comm::on_root(ranks, [&] { check_and_print(settings, launch, ranks.console); });
  return 0;
}

}  // namespace dt::equivalence
