#include "plan/choose_layout.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <regex>

#include "base/error.hpp"
#include "base/text/text.hpp"
#include "parallel/schedule/pipeline.hpp"
#include "parallel/schedule/stages.hpp"
#include "parallel/state/mesh.hpp"
#include "plan/settings.hpp"

namespace dt::plan {

namespace {

/// Returns a value of the layout, named as it was asked for: "zero=1" in a layout's text, "--zero 1"
/// as an option.
std::string named(const Settings& s, const char* key, const std::string& value) {
  return s.compare_layouts ? fmt::format("{}={}", key, value) : fmt::format("--{} {}", key, value);
}

/// Returns a text about a layout that uses the keys of its text ("pp=2,schedule=1f1b"), with the keys
/// as they were asked for.
std::string as_asked(const Settings& s, std::string text) {
  if (s.compare_layouts) return text;
  const auto put = [&text](const char* from, const char* to) {
    text = std::regex_replace(text, std::regex(from), to);
  };
  put(",(?=[a-z-]+=)", " ");
  put("\\bsp=on", "--sequence-parallel");
  put("\\bsp=off", "--no-sequence-parallel");
  put("\\bschedule=", "pp-schedule=");  // --schedule is the learning rate's schedule
  put("\\b([a-z-]+)=([0-9a-z-]+)", "--$1 $2");
  put("without stage-units", "without --stage-units");
  return text;
}

/// Returns how many data ranks of a node follow each other, with no other node's between them.
/// Returns 0 if the number differs between nodes. Data ranks follow each other with cp slowest, those
/// of a node with cp fastest. So a node must have all data ranks, or one of the two axes must have
/// size 1.
int data_ranks_of_node(const Launch& launch, const model::Layout& layout) {
  const int per_node = launch.ranks_per_node / layout.tp, ranks = layout.data_ranks();
  if (per_node == 0 || launch.ranks_per_node % layout.tp != 0) return 0;
  if (per_node % ranks == 0) return ranks;  // the node's ranks belong to several stages
  return ranks % per_node == 0 && (layout.dp == 1 || layout.cp == 1) ? per_node : 0;
}

[[noreturn]] void refuse_node_groups(const Settings& s, const model::Layout& layout) {
  const std::string asked = named(s, "zero-group", "node") + ": ";
  if (layout.dp == 1 || layout.cp == 1)
    throw Error(ErrorKind::usage, asked + "each node must hold the same number of consecutive ranks",
                "start the same number of ranks on each node, or use " + named(s, "zero-group", "all"));
  throw Error(ErrorKind::usage,
              asked + fmt::format("with {}, each node must hold all {} ranks that hold the same weights",
                                  named(s, "cp", std::to_string(layout.cp)), layout.data_ranks()),
              fmt::format("use {} or {}", named(s, "zero-group", "all"),
                          named(s, "zero-group", std::to_string(layout.dp))));
}

/// Returns how many ranks --zero divides the state among. Ranks that follow each other make up whole
/// groups of that size.
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
  const char* const node = data_ranks_of_node(launch, layout) > 0 ? "node, " : "";
  throw Error(ErrorKind::usage,
              fmt::format("{} is not a divisor of the {} {}ranks", named(s, "zero-group", s.zero_group),
                          ranks, s.ranks_per_model() > 1 ? "data-parallel " : ""),
              fmt::format("allowed: all, {}{}", node, allowed));
}

void set_zero(const Settings& s, const Launch& launch, model::Layout& layout) {
  const int group = parse_zero_group(s, launch, layout);
  if (group == 1) return;  // one rank has nothing to divide
  layout.zero = static_cast<int>(s.zero);
  if (layout.zero > 0 && group < layout.data_ranks()) layout.zero_group = group;
}

/// Returns "--tp 2 --pp 4": the values in `s` of those of --tp, --cp and --pp that are above 1 in
/// `asked`.
std::string ranks_text(const Settings& asked, const Settings& s) {
  std::string text;
  if (asked.tp > 1) text += fmt::format(" --tp {}", s.tp);
  if (asked.cp > 1) text += fmt::format(" --cp {}", s.cp);
  if (asked.pp > 1) text += fmt::format(" --pp {}", s.pp);
  return text.substr(1);
}

/// Returns "tp 2 × pp 4": the factors above 1 of the ranks that hold one model.
std::string ranks_product(const Settings& s) {
  std::vector<std::string> factors;
  if (s.tp > 1) factors.push_back(fmt::format("tp {}", s.tp));
  if (s.cp > 1) factors.push_back(fmt::format("cp {}", s.cp));
  if (s.pp > 1) factors.push_back(fmt::format("pp {}", s.pp));
  return fmt::format("{}", fmt::join(factors, " × "));
}

/// Returns the --stage-units option, with the units of each stage as numbers or as they were given.
template <class Counts>
std::string named_units(const Settings& s, const Counts& counts) {
  return named(s, "stage-units", fmt::format("{}", fmt::join(counts, s.compare_layouts ? "+" : ",")));
}

/// Refuses the stage units that were asked for.
/// Errors: usage, beginning with the stage units that were asked for.
[[noreturn]] void refuse(const Settings& s, const std::string& why, const std::string& remedy) {
  throw Error(ErrorKind::usage, fmt::format("{}: {}", named_units(s, s.stage_units), why), remedy);
}

std::vector<int> counts_of(const Settings& s, int num_units, const std::string& remedy) {
  std::vector<int> counts;
  for (const std::string& text : s.stage_units) {
    std::int64_t count = 0;
    try {
      count = parse_count(text);
    } catch (const Error&) {  // reported below
    }
    if (count < 1 || count > num_units)
      refuse(s, fmt::format("'{}' is not a number of units; expected 1 to {}", text, num_units), remedy);
    counts.push_back(static_cast<int>(count));
  }
  return counts;
}

parallel::Stages asked_stages(const Settings& s, const parallel::Stages& by_cost) {
  const std::vector<int> best = [&] {
    std::vector<int> counts;
    for (int i = 0; i < by_cost.num_stages(); ++i) counts.push_back(by_cost.end(i) - by_cost.begin(i));
    return counts;
  }();
  const std::string remedy = fmt::format("use {} (balanced by cost)", named_units(s, best));
  const std::vector<int> counts = counts_of(s, by_cost.num_units(), remedy);
  if (counts.size() != best.size())
    refuse(s,
           as_asked(s, fmt::format("{} numbers given for {} stages (pp={}, virtual-stages={})", counts.size(),
                                   best.size(), s.pp, s.virtual_stages)),
           remedy);
  try {
    return parallel::stages_from_counts(counts, by_cost.num_units());
  } catch (const Error& error) {
    refuse(s, error.what(), remedy);
  }
}

/// Returns the units of each rank of the pipeline.
model::StageUnits lay_units(const Settings& s, const model::ModelSpec& spec, std::int64_t sequence_length,
                            const model::Layout& layout) {
  const int num_stages = layout.pp * layout.virtual_stages;
  if (num_stages == 1) {
    if (!s.stage_units.empty())
      refuse(s, "a single stage holds all units", as_asked(s, "omit it, or use more stages, such as pp=2"));
    return {};
  }
  parallel::Stages stages = parallel::balance_stages(
      parallel::unit_costs(spec, sequence_length, s.recompute == Recompute::full), num_stages);
  if (!s.stage_units.empty()) stages = asked_stages(s, stages);
  return parallel::stage_units_of(stages, parallel::schedule_of(layout, 1));
}

model::Layout lay_out(const Settings& s, const model::ModelSpec& spec, std::int64_t sequence_length,
                      const Launch& launch, bool suggests);

/// Returns whether the launch's ranks can be laid out as these settings ask.
bool is_accepted(const Settings& s, const model::ModelSpec& spec, std::int64_t sequence_length,
                 const Launch& launch) {
  if (launch.num_ranks < s.ranks_per_model()) return false;
  try {
    const Launch used = launch_on_subset(launch, num_ranks_used(s, launch.num_ranks));
    lay_out(s, spec, sequence_length, used, /*suggests=*/false);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Adapts settings to a change of their layout. Turns sequence parallelism off for --tp 1, and
/// drops stage units that were given for another number of stages. Returns these adaptations as
/// changes of a layout's text.
std::string adapt(Settings& s, const Settings& asked) {
  std::string changes;
  if (s.tp == 1 && asked.tp > 1 && s.sequence_parallel) {
    s.sequence_parallel = false;
    changes += ",sp=off";
  }
  if (s.pp * s.virtual_stages != asked.pp * asked.virtual_stages && !s.stage_units.empty()) {
    s.stage_units.clear();
    changes += " without stage-units";
  }
  return changes;
}

/// Makes a change of a layout's text, "tp=4,sp=off" or "--sequence-length 32", in the settings. Returns
/// false for other texts.
bool make_change(const std::string& text, Settings& s, std::int64_t& length) {
  static const std::string of_length = "--sequence-length ", at_most = "at most ";
  if (text.starts_with(of_length)) {
    length = parse_count(text.substr(of_length.size()));
    return true;
  }
  for (const std::string& part : split(text.starts_with(at_most) ? text.substr(at_most.size()) : text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) return false;
    const std::string key = part.substr(0, equals), value = part.substr(equals + 1);
    if (key == "tp")
      s.tp = parse_count(value);
    else if (key == "cp")
      s.cp = parse_count(value);
    else if (key == "ep")
      s.ep = parse_count(value);
    else if (key == "pp")
      s.pp = parse_count(value);
    else if (key == "virtual-stages")
      s.virtual_stages = parse_count(value);
    else if (key == "schedule")
      s.pp_schedule = parse_name<model::PipelineScheduleKind>(value).value();
    else if (key == "sp")
      s.sequence_parallel = value == "on";
    else
      return false;
  }
  return true;
}

/// Keeps, of "why; use A, B or C", the alternatives that these ranks accept. If they accept
/// none, offers a model on one rank.
std::string with_accepted(const Settings& s, const model::ModelSpec& spec, std::int64_t sequence_length,
                          const Launch& launch, const std::string& why) {
  static const std::string advice = "; use ";
  const std::size_t begin = why.rfind(advice);
  if (begin == std::string::npos) return why;
  const std::string list = why.substr(begin + advice.size());
  std::vector<std::string> accepted;
  const auto offer = [&](const std::string& change) {
    Settings other = s;
    std::int64_t length = sequence_length;
    if (!make_change(change, other, length)) return;
    // The ranks that would then be idle are not known here, and groups of --zero-group depend on
    // them.
    const bool is_of_groups = s.zero > 0 && s.zero_group != "all";
    if (is_of_groups && other.ranks_per_model() != s.ranks_per_model()) return;
    const std::string changes = change + adapt(other, s);
    if (is_accepted(other, spec, length, launch) && std::ranges::find(accepted, changes) == accepted.end())
      accepted.push_back(changes);
  };
  for (const std::string& change : split(std::regex_replace(list, std::regex(", | or "), ";"), ';'))
    offer(change);
  if (accepted.empty()) offer("pp=1,schedule=1f1b,virtual-stages=1,cp=1,tp=1");
  if (accepted.empty()) return why.substr(0, begin);
  const std::string last = accepted.back();
  accepted.pop_back();
  return fmt::format("{}{}{}{}{}", why.substr(0, begin), advice, fmt::join(accepted, ", "),
                     accepted.empty() ? "" : " or ", last);
}

model::Layout lay_out(const Settings& s, const model::ModelSpec& spec, std::int64_t sequence_length,
                      const Launch& launch, bool suggests) {
  DT_CHECK(num_ranks_used(s, launch.num_ranks) == launch.num_ranks, "{} ranks do not make up models of {}",
           launch.num_ranks, s.ranks_per_model());
  model::Layout layout{.pp = static_cast<int>(s.pp), .tp = static_cast<int>(s.tp)};
  layout.cp = static_cast<int>(s.cp);
  layout.ep = static_cast<int>(s.ep);
  layout.dp = static_cast<int>(launch.num_ranks / s.ranks_per_model());
  layout.sequence_parallel = s.sequence_parallel && s.tp > 1;
  layout.schedule = s.pp_schedule;
  layout.virtual_stages = static_cast<int>(s.virtual_stages);
  for (const std::string& why : {parallel::layout_error(layout, spec),
                                 parallel::sequence_length_error(layout, spec, sequence_length)}) {
    if (!why.empty())
      throw usage_error("{}",
                        as_asked(s, suggests ? with_accepted(s, spec, sequence_length, launch, why) : why));
  }
  try {
    layout.stages = lay_units(s, spec, sequence_length, layout);
  } catch (const Error& error) {
    Settings by_cost = s;
    by_cost.stage_units.clear();
    if (suggests && !is_accepted(by_cost, spec, sequence_length, launch))
      throw Error(ErrorKind::usage, error.what());
    throw;
  }
  set_zero(s, launch, layout);
  return layout;
}

/// Returns the options of the nearest layout that so many ranks can hold. Tries fewer stages first,
/// then fewer context-parallel ranks, then fewer tensor-parallel ranks. Returns "" if the model is
/// not known, or nothing is accepted.
std::string fewer_ranks(const Settings& asked, std::int64_t num_ranks) {
  if (!asked.resume.model) return "";
  try {
    const model::ModelSpec spec = model::load_model_spec(*asked.resume.model);
    const std::int64_t length = asked.sequence_length.value_or(spec.max_positions);
    const Launch launch{.num_ranks = static_cast<int>(num_ranks),
                        .ranks_per_node = 0};  // then --zero-group node makes no groups
    Settings s = asked;
    for (s.tp = std::min(asked.tp, num_ranks); s.tp > 0; --s.tp) {
      if (asked.tp % s.tp != 0) continue;
      for (s.cp = std::min(asked.cp, num_ranks / s.tp); s.cp > 0; --s.cp) {
        for (s.pp = std::min(asked.pp, num_ranks / s.tp / s.cp); s.pp > 0; --s.pp) {
          Settings other = s;
          const std::string changes = adapt(other, asked);
          if (is_accepted(other, spec, length, launch))
            return ranks_text(asked, other) +
                   as_asked(asked, std::regex_replace(changes, std::regex(","), " "));
        }
      }
    }
  } catch (const Error&) {  // an error of the model, which the code that loads it reports
  }
  return "";
}

}  // namespace

int num_ranks_used(const Settings& s, int num_ranks) {
  const std::int64_t each = s.ranks_per_model();
  if (num_ranks >= each) return static_cast<int>(num_ranks / each * each);
  const std::string fewer = fewer_ranks(s, num_ranks);
  const std::string there = s.ranks
                                ? fmt::format("--ranks is {}", num_ranks)
                                : fmt::format("{} {} started", num_ranks, num_ranks == 1 ? "was" : "were");
  throw Error(ErrorKind::usage,
              fmt::format("this layout needs {} ranks ({}); {}", each, ranks_product(s), there),
              fewer.empty() ? fmt::format("start {} ranks, or use a smaller layout", each)
                            : fmt::format("use {}, or start {} ranks", fewer, each));
}

bool allows_zero_group(const Settings& s, const Launch& launch) {
  model::Layout layout{.pp = static_cast<int>(s.pp), .tp = static_cast<int>(s.tp)};
  layout.cp = static_cast<int>(s.cp);
  try {
    const Launch used = launch_on_subset(launch, num_ranks_used(s, launch.num_ranks));
    layout.dp = static_cast<int>(used.num_ranks / s.ranks_per_model());
    return parse_zero_group(s, used, layout) > 0;
  } catch (const Error&) {
    return false;
  }
}

model::Layout choose_layout(const Settings& s, const model::ModelSpec& spec, std::int64_t sequence_length,
                            const Launch& launch) {
  return lay_out(s, spec, sequence_length, launch, /*suggests=*/true);
}

}  // namespace dt::plan
