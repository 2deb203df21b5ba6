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
    const std::int64_t stage = range.integer("stage"), begin = range.integer("begin"),
                       end = range.integer("end");
    if (pp > num_units || stage < 0 || stage >= pp || begin != next || end <= begin || end > num_units)
      throw input_error("{}: units {} to {} of {} on stage {} of {}, behind {}", range.where(), begin, end,
                        num_units, stage, pp, next);
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
            {"schedule", model::schedule_name(layout.schedule)},
            {"virtual_stages", layout.virtual_stages},
            {"stages", stages_json(layout.stages)}};
  if (layout.sequence_parallel) mesh["sp"] = "on";
  if (layout.cp > 1) mesh["cp"] = layout.cp;
  return mesh.dump();
}

model::Layout parse_layout(const JsonValue& mesh, int num_units) {
  const auto number = [&](const char* name) { return static_cast<int>(mesh.integer(name)); };
  model::Layout layout{.pp = number("pp"), .dp = number("dp"), .tp = number("tp"), .zero = number("zero")};
  if (!mesh.has("schedule")) return layout;
  layout.zero_group = number("zero_group");
  layout.schedule = model::parse_pipeline_schedule(mesh.string("schedule")).value_or(layout.schedule);
  layout.virtual_stages = number("virtual_stages");
  if (mesh.has("cp")) layout.cp = number("cp");
  layout.sequence_parallel = mesh.has("sp") && mesh.string("sp") == "on";
  layout.stages = parse_stages(mesh, layout.pp, num_units);
  return layout;
}

}  // namespace dt::checkpoint
