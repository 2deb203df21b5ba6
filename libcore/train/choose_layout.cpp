#include "train/choose_layout.hpp"

#include <algorithm>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "parallel/mesh.hpp"
#include "parallel/pipeline.hpp"
#include "parallel/unit_costs.hpp"

namespace dt::train {

namespace {

/// Ranks among which --zero divides the state: whole groups of ranks that follow each other.
int parse_zero_group(const Settings& s, const Launch& launch, int dp) {
  if (s.zero_group == "all" || s.zero == 0) return dp;
  if (s.zero_group == "node") {
    const int per_node = launch.ranks_per_node % static_cast<int>(s.tp) == 0
                             ? launch.ranks_per_node / static_cast<int>(s.tp)
                             : 0;
    if (per_node > 0 && dp % per_node == 0) return per_node;
    if (per_node > 0 && per_node % dp == 0) return dp;  // of several stages
    throw Error(ErrorKind::usage, "--zero-group node: the nodes do not all have as many ranks, in a row",
                "give each node as many ranks, or divide among all");
  }
  const bool is_number = !s.zero_group.empty() && s.zero_group.size() < 9 &&
                         s.zero_group.find_first_not_of("0123456789") == std::string::npos;
  const int size = is_number ? std::stoi(s.zero_group) : 0;
  if (size > 0 && dp % size == 0) return size;
  std::string allowed;
  for (int n = 1; n <= dp; ++n) {
    if (dp % n == 0) allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", n);
  }
  throw Error(ErrorKind::usage,
              fmt::format("--zero-group {}: groups of equal size must make up the {} {}ranks", s.zero_group,
                          dp, s.pp * s.tp > 1 ? "data-parallel " : ""),
              fmt::format("allowed are all, node, {}", allowed));
}

void set_zero(const Settings& s, const Launch& launch, model::Layout& layout) {
  const int group = parse_zero_group(s, launch, layout.dp);
  if (group == 1) return;  // one rank has nothing to divide
  layout.zero = static_cast<int>(s.zero);
  if (layout.zero > 0 && group < layout.dp) layout.zero_group = group;
}

/// The options that say what a model is cut into, as they were given or could have been.
std::string asked_cuts(const Settings& s) {
  std::string text = s.tp > 1 ? fmt::format("--tp {}", s.tp) : fmt::format("--pp {}", s.pp);
  if (s.tp > 1 && s.sequence_parallel) text += " --sequence-parallel";
  if (s.tp > 1 && s.pp > 1) text += fmt::format(" --pp {}", s.pp);
  if (s.pp_schedule != Settings().pp_schedule) text += " --pp-schedule " + s.pp_schedule;
  return s.virtual_stages == 1 ? text : text + fmt::format(" --virtual-stages {}", s.virtual_stages);
}

std::string ranks_text(std::int64_t tp, std::int64_t pp) {
  return pp == 1 ? fmt::format("--tp {}", tp) : fmt::format("--tp {} --pp {}", tp, pp);
}

/// The nearest that so many ranks can hold: of fewer stages first, then of fewer ranks that share a layer.
std::string fewer_ranks(const Settings& s, std::int64_t num_ranks) {
  if (s.tp == 1) return fmt::format("--pp of at most {}", num_ranks);
  std::int64_t tp = std::min(s.tp, num_ranks);
  while (s.tp % tp != 0) --tp;
  return ranks_text(tp, std::min(s.pp, num_ranks / tp));
}

/// Error{usage}, beginning with what was asked for.
[[noreturn]] void refuse(const Settings& s, const std::string& why, const std::string& remedy) {
  throw Error(ErrorKind::usage, fmt::format("--stage-units {}: {}", fmt::join(s.stage_units, ","), why),
              remedy);
}

std::vector<int> counts_of(const Settings& s, const std::string& remedy) {
  std::vector<int> counts;
  for (const std::string& text : s.stage_units) {
    std::int64_t count = 0;
    try {
      count = parse_count(text);
    } catch (const Error&) {  // said below
    }
    if (count < 1 || count > max_stages)
      refuse(s, fmt::format("a stage of '{}' units; each holds at least one", text), remedy);
    counts.push_back(static_cast<int>(count));
  }
  return counts;
}

parallel::Stages asked_stages(const Settings& s, const parallel::Stages& by_cost) {
  const std::vector<int> best = [&] {
    std::vector<int> counts;
    for (int i = 0; i < by_cost.num(); ++i) counts.push_back(by_cost.end(i) - by_cost.begin(i));
    return counts;
  }();
  const std::string remedy = fmt::format("--stage-units {} would do, as by cost", fmt::join(best, ","));
  const std::vector<int> counts = counts_of(s, remedy);
  if (counts.size() != best.size())
    refuse(s,
           fmt::format("{} given for {} stages (pp={}, virtual-stages={})", counts.size(), best.size(), s.pp,
                       s.virtual_stages),
           remedy);
  try {
    return parallel::stages_of_counts(counts, by_cost.num_units());
  } catch (const Error& error) {
    refuse(s, error.what(), remedy);
  }
}

/// Of each rank of the pipeline.
model::StageUnits lay_units(const Settings& s, const model::ModelSpec& spec, std::int64_t sequence_length,
                            const model::Layout& layout) {
  const int num_stages = layout.pp * layout.virtual_stages;
  if (num_stages == 1) {
    if (!s.stage_units.empty())
      refuse(s, "one stage has all units",
             "leave it out, or ask for more stages with --pp or --virtual-stages");
    return {};
  }
  parallel::Stages stages =
      parallel::lay_stages(parallel::unit_costs(spec, sequence_length, s.recompute == "full"), num_stages);
  if (!s.stage_units.empty()) stages = asked_stages(s, stages);
  return parallel::ranges_of(stages, parallel::schedule_of(layout, 1));
}

}  // namespace

int ranks_used(const Settings& s, int num_ranks) {
  const std::int64_t each = s.pp * s.tp;
  if (num_ranks >= each) return static_cast<int>(num_ranks / each * each);
  const std::string there = num_ranks == 1 ? "is one" : fmt::format("are {}", num_ranks);
  const std::string asked =
      s.tp == 1 ? fmt::format("--pp {}: a pipeline", s.pp) : ranks_text(s.tp, s.pp) + ": a model";
  throw Error(ErrorKind::usage, fmt::format("{} of {} ranks, and there {}", asked, each, there),
              fmt::format("{} would do, or start {} ranks", fewer_ranks(s, num_ranks), each));
}

model::Layout choose_layout(const Settings& s, const model::ModelSpec& spec, std::int64_t sequence_length,
                            const Launch& launch) {
  DT_CHECK(ranks_used(s, launch.num_ranks) == launch.num_ranks, "{} ranks do not make up models of {} × {}",
           launch.num_ranks, s.pp, s.tp);
  model::Layout layout{.pp = static_cast<int>(s.pp), .tp = static_cast<int>(s.tp)};
  layout.dp = launch.num_ranks / layout.pp / layout.tp;
  layout.sequence_parallel = s.sequence_parallel && s.tp > 1;
  layout.schedule = model::parse_pipeline_schedule(s.pp_schedule).value();
  layout.virtual_stages = static_cast<int>(s.virtual_stages);
  set_zero(s, launch, layout);
  if (const std::string why = parallel::why_impossible(layout, spec); !why.empty())
    throw usage_error("{}: {}", asked_cuts(s), why);
  if (const std::string why = parallel::why_sequence_impossible(layout, spec, sequence_length); !why.empty())
    throw usage_error("{}: {}", asked_cuts(s), why);
  layout.stages = lay_units(s, spec, sequence_length, layout);
  return layout;
}

}  // namespace dt::train
