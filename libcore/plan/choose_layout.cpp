#include "plan/choose_layout.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <regex>

#include "base/error.hpp"
#include "base/text.hpp"
#include "parallel/mesh.hpp"
#include "parallel/pipeline.hpp"
#include "parallel/unit_costs.hpp"

namespace dt::plan {

namespace {

/// A value of the layout, named as it was asked for: "zero=1" in a layout's text, "--zero 1" as an option.
std::string named(const Settings& s, const char* key, const std::string& value) {
  return s.compare_layouts ? fmt::format("{}={}", key, value) : fmt::format("--{} {}", key, value);
}

/// What is said of a layout in the keys of its text ("pp=2,schedule=1f1b"), as it was asked for.
std::string as_asked(const Settings& s, std::string text) {
  if (s.compare_layouts) return text;
  const auto put = [&text](const char* from, const char* to) {
    text = std::regex_replace(text, std::regex(from), to);
  };
  put(",(?=[a-z-]+=)", " ");
  put("\\bsp=on", "--sequence-parallel");
  put("\\bsp=off", "--no-sequence-parallel");
  put("\\bschedule=", "pp-schedule=");  // --schedule is the learning rate's
  put("\\b([a-z-]+)=([0-9a-z-]+)", "--$1 $2");
  return text;
}

/// How many data ranks of a node follow each other, with no other node's between them; 0 where that is not
/// the same of all nodes. Data ranks follow each other cp slowest, those of a node cp fastest: a node has all
/// of them, or one of both axes is alone.
int data_ranks_of_node(const Launch& launch, const model::Layout& layout) {
  const int per_node = launch.ranks_per_node / layout.tp, ranks = layout.data_ranks();
  if (per_node == 0 || launch.ranks_per_node % layout.tp != 0) return 0;
  if (per_node % ranks == 0) return ranks;  // of several stages
  return ranks % per_node == 0 && (layout.dp == 1 || layout.cp == 1) ? per_node : 0;
}

[[noreturn]] void refuse_node_groups(const Settings& s, const model::Layout& layout) {
  const std::string asked = named(s, "zero-group", "node") + ": ";
  if (layout.dp == 1 || layout.cp == 1)
    throw Error(ErrorKind::usage, asked + "the nodes do not all have as many ranks, in a row",
                "give each node as many ranks, or divide among all");
  throw Error(
      ErrorKind::usage,
      asked + fmt::format("beside {} of {} data-parallel ranks a node must have all that hold the same",
                          named(s, "cp", std::to_string(layout.cp)), layout.dp),
      fmt::format("{} or {} would do", named(s, "zero-group", "all"),
                  named(s, "zero-group", std::to_string(layout.dp))));
}

/// Ranks among which --zero divides the state: whole groups of ranks that follow each other.
int parse_zero_group(const Settings& s, const Launch& launch, const model::Layout& layout) {
  const int ranks = layout.data_ranks();
  if (s.zero_group == "all" || s.zero == 0) return ranks;
  if (s.zero_group == "node") {
    if (const int group = data_ranks_of_node(launch, layout); group > 0) return group;
    refuse_node_groups(s, layout);
  }
  const bool is_number = !s.zero_group.empty() && s.zero_group.size() < 9 &&
                         s.zero_group.find_first_not_of("0123456789") == std::string::npos;
  const int size = is_number ? std::stoi(s.zero_group) : 0;
  if (size > 0 && ranks % size == 0) return size;
  std::string allowed;
  for (int n = 1; n <= ranks; ++n) {
    if (ranks % n == 0) allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", n);
  }
  throw Error(ErrorKind::usage,
              fmt::format("{}: groups of equal size must make up the {} {}ranks",
                          named(s, "zero-group", s.zero_group), ranks,
                          s.ranks_per_model() > 1 ? "data-parallel " : ""),
              fmt::format("allowed are all, node, {}", allowed));
}

void set_zero(const Settings& s, const Launch& launch, model::Layout& layout) {
  const int group = parse_zero_group(s, launch, layout);
  if (group == 1) return;  // one rank has nothing to divide
  layout.zero = static_cast<int>(s.zero);
  if (layout.zero > 0 && group < layout.data_ranks()) layout.zero_group = group;
}

/// "--tp 2 --pp 4"; what is 1 is left out, if anything is not.
std::string ranks_text(std::int64_t tp, std::int64_t pp, std::int64_t cp) {
  std::string text;
  if (tp > 1) text += fmt::format(" --tp {}", tp);
  if (cp > 1) text += fmt::format(" --cp {}", cp);
  if (pp > 1 || text.empty()) text += fmt::format(" --pp {}", pp);
  return text.substr(1);
}

/// The units of each stage, as numbers or as they were given.
template <class Counts>
std::string named_units(const Settings& s, const Counts& counts) {
  return named(s, "stage-units", fmt::format("{}", fmt::join(counts, s.compare_layouts ? "+" : ",")));
}

/// The nearest that so many ranks can hold: of fewer stages first, then of fewer ranks that share a layer.
std::string fewer_ranks(const Settings& s, std::int64_t num_ranks) {
  if (s.tp * s.cp == 1) return fmt::format("--pp of at most {}", num_ranks);
  std::int64_t tp = std::min(s.tp, num_ranks);
  while (s.tp % tp != 0) --tp;
  const std::int64_t cp = std::min(s.cp, num_ranks / tp);
  const std::string text = ranks_text(tp, std::min(s.pp, num_ranks / tp / cp), cp);
  return tp * cp == 1 && num_ranks / tp / cp == 1 ? fmt::format("--tp {}", tp) : text;
}

/// Error{usage}, beginning with what was asked for.
[[noreturn]] void refuse(const Settings& s, const std::string& why, const std::string& remedy) {
  throw Error(ErrorKind::usage, fmt::format("{}: {}", named_units(s, s.stage_units), why), remedy);
}

std::vector<int> counts_of(const Settings& s, int num_units, const std::string& remedy) {
  std::vector<int> counts;
  for (const std::string& text : s.stage_units) {
    std::int64_t count = 0;
    try {
      count = parse_count(text);
    } catch (const Error&) {  // said below
    }
    if (count < 1 || count > num_units)
      refuse(s, fmt::format("'{}' is not a number of units, from 1 to the model's {}", text, num_units),
             remedy);
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
  const std::string remedy = named_units(s, best) + " would do, as by cost";
  const std::vector<int> counts = counts_of(s, by_cost.num_units(), remedy);
  if (counts.size() != best.size())
    refuse(s,
           as_asked(s, fmt::format("{} given for {} stages (pp={}, virtual-stages={})", counts.size(),
                                   best.size(), s.pp, s.virtual_stages)),
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
      refuse(s, "one stage has all units", as_asked(s, "leave it out, or ask for more stages, as with pp=2"));
    return {};
  }
  parallel::Stages stages =
      parallel::lay_stages(parallel::unit_costs(spec, sequence_length, s.recompute == "full"), num_stages);
  if (!s.stage_units.empty()) stages = asked_stages(s, stages);
  return parallel::ranges_of(stages, parallel::schedule_of(layout, 1));
}

}  // namespace

int ranks_used(const Settings& s, int num_ranks) {
  const std::int64_t each = s.ranks_per_model();
  if (num_ranks >= each) return static_cast<int>(num_ranks / each * each);
  const std::string there = num_ranks == 1 ? "is one" : fmt::format("are {}", num_ranks);
  const std::string asked = ranks_text(s.tp, s.pp, s.cp) + (s.tp * s.cp == 1 ? ": a pipeline" : ": a model");
  throw Error(ErrorKind::usage, fmt::format("{} of {} ranks, and there {}", asked, each, there),
              fmt::format("{} would do, or start {} ranks", fewer_ranks(s, num_ranks), each));
}

bool allows_zero_group(const Settings& s, const Launch& launch) {
  model::Layout layout{.pp = static_cast<int>(s.pp), .tp = static_cast<int>(s.tp)};
  layout.cp = static_cast<int>(s.cp);
  try {
    const Launch used = of_first(launch, ranks_used(s, launch.num_ranks));
    layout.dp = static_cast<int>(used.num_ranks / s.ranks_per_model());
    return parse_zero_group(s, used, layout) > 0;
  } catch (const Error&) {
    return false;
  }
}

model::Layout choose_layout(const Settings& s, const model::ModelSpec& spec, std::int64_t sequence_length,
                            const Launch& launch) {
  DT_CHECK(ranks_used(s, launch.num_ranks) == launch.num_ranks, "{} ranks do not make up models of {}",
           launch.num_ranks, s.ranks_per_model());
  model::Layout layout{.pp = static_cast<int>(s.pp), .tp = static_cast<int>(s.tp)};
  layout.cp = static_cast<int>(s.cp);
  layout.dp = static_cast<int>(launch.num_ranks / s.ranks_per_model());
  layout.sequence_parallel = s.sequence_parallel && s.tp > 1;
  layout.schedule = model::parse_pipeline_schedule(s.pp_schedule).value();
  layout.virtual_stages = static_cast<int>(s.virtual_stages);
  set_zero(s, launch, layout);
  if (const std::string why = parallel::why_impossible(layout, spec); !why.empty())
    throw usage_error("{}", as_asked(s, why));
  if (const std::string why = parallel::why_sequence_impossible(layout, spec, sequence_length); !why.empty())
    throw usage_error("{}", as_asked(s, why));
  layout.stages = lay_units(s, spec, sequence_length, layout);
  return layout;
}

}  // namespace dt::plan
