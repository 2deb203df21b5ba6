#include "checkpoint/layout_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace dt::checkpoint {

namespace {

using json = nlohmann::ordered_json;

json stages_json(const model::StageUnits& stages) {
  struct Range {
    model::UnitRange units;
    std::size_t stage = 0;
  };
  std::vector<Range> ranges;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    for (const model::UnitRange& units : stages[stage]) ranges.push_back({units, stage});
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.units.begin < b.units.begin; });
  json list = json::array();
  for (const Range& range : ranges)
    list.push_back({{"stage", range.stage}, {"begin", range.units.begin}, {"end", range.units.end}});
  return list;
}

model::StageUnits parse_stages(const JsonValue& mesh, int pp, int num_units) {
  model::StageUnits stages;
  std::int64_t next = 0;
  for (const JsonValue& range : mesh.objects("stages")) {
    const std::int64_t stage = range.integer("stage", 0, pp - 1), begin = range.integer("begin", next, next),
                       end = range.integer("end", next + 1, num_units);
    stages.resize(static_cast<std::size_t>(pp));
    stages[static_cast<std::size_t>(stage)].push_back({static_cast<int>(begin), static_cast<int>(end)});
    next = end;
  }
  if (!stages.empty() && next != num_units)
    throw input_error("{}: stages of {} units in all; the model has {}", mesh.where(), next, num_units);
  return stages;
}

}  // namespace

std::string to_json(const model::Layout& layout) {
  json mesh{{"pp", layout.pp},
            {"dp", layout.dp},
            {"tp", layout.tp},
            {"zero", layout.zero},
            {"zero_group", layout.zero_group},
            {"schedule", name_of(layout.schedule)},
            {"virtual_stages", layout.virtual_stages},
            {"stages", stages_json(layout.stages)}};
  if (layout.sequence_parallel) mesh["sp"] = "on";
  if (layout.cp > 1) mesh["cp"] = layout.cp;
  return mesh.dump();
}

model::Layout parse_layout(const JsonValue& mesh, int num_units) {
  constexpr std::int64_t most_ranks = 1 << 20;
  const auto number = [&](const char* name, std::int64_t least, std::int64_t most) {
    return static_cast<int>(mesh.integer(name, least, most));
  };
  model::Layout layout{.pp = number("pp", 1, num_units),
                       .dp = number("dp", 1, most_ranks),
                       .tp = number("tp", 1, most_ranks),
                       .zero = number("zero", 0, 3)};
  if (mesh.has("cp")) layout.cp = number("cp", 1, most_ranks);
  std::int64_t ranks = 1;
  for (const int axis : {layout.pp, layout.dp, layout.cp, layout.tp}) {
    if (ranks *= axis; ranks > most_ranks)
      throw mesh.error(fmt::format("it has more than {} ranks", most_ranks));
  }
  if (!mesh.has("schedule")) return layout;
  layout.zero_group = number("zero_group", 0, layout.data_ranks());
  layout.schedule =
      parse_name<model::PipelineScheduleKind>(mesh.string("schedule")).value_or(layout.schedule);
  layout.virtual_stages = number("virtual_stages", 1, num_units);
  layout.sequence_parallel = mesh.has("sp") && mesh.string("sp") == "on";
  layout.stages = parse_stages(mesh, layout.pp, num_units);
  return layout;
}

}  // namespace dt::checkpoint
