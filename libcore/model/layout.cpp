#include "model/layout.hpp"

#include <algorithm>
#include <array>
#include <fmt/ranges.h>

#include "base/text/suggest.hpp"
#include "base/text/text.hpp"
#include "model/parameter_table.hpp"

namespace dt::model {

namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

MeshCoordinates Layout::coordinates_of(int rank) const {
  DT_CHECK(rank >= 0 && rank < size(), "rank {} of a layout of {}", rank, size());
  return {rank / tp / cp / dp, rank / tp / cp % dp, rank % tp, rank / tp % cp};
}

int Layout::group_size(ReductionAxis axis) const {
  if (zero_group == 0) return reduction_ranks(axis);
  return axis == ReductionAxis::data ? zero_group : std::max(1, zero_group / ep);
}

std::string Layout::to_string() const {
  std::string text = fmt::format("pp={}", pp);
  if (schedule != PipelineScheduleKind::one_f_one_b) text += fmt::format(",schedule={}", name_of(schedule));
  if (virtual_stages > 1) text += fmt::format(",virtual-stages={}", virtual_stages);
  text += fmt::format(",dp={}", dp);
  if (cp > 1) text += fmt::format(",cp={}", cp);
  if (ep > 1) text += fmt::format(",ep={}", ep);
  text += fmt::format(",tp={}{},zero={}", tp, sequence_parallel ? ",sp=on" : "", zero);
  return zero_group == 0 ? text : text + fmt::format(",zero-group={}", zero_group);
}

std::string expert_axis_error(const Layout& layout, const ModelSpec& spec) {
  return layout.ep == 1 ? "" : expert_axis_error(layout, ParameterTable(spec).num_experts());
}

std::string expert_axis_error(const Layout& layout, std::int64_t num_experts) {
  if (layout.ep == 1) return {};
  if (num_experts == 0)
    return fmt::format("ep={} divides experts among ranks, but this model has no experts", layout.ep);
  const auto is_possible = [&](int ep) { return ep <= num_experts && layout.data_ranks() % ep == 0; };
  if (is_possible(layout.ep)) return {};
  int below = std::min(layout.ep, layout.data_ranks());
  while (!is_possible(below)) --below;
  const std::string ranks =
      layout.cp == 1 ? fmt::format("dp={}", layout.dp) : fmt::format("dp={} × cp={}", layout.dp, layout.cp);
  return fmt::format(
      "ep={} does not fit {} experts and {}: ep must divide {} and not exceed the experts; use ep={}",
      layout.ep, num_experts, ranks, layout.cp == 1 ? "dp" : "dp × cp", below);
}

StageUnits even_stages(int num_units, int pp) {
  const int ends = num_units - 2 < pp ? 0 : 1;  // embedding and head share their stages with blocks
  const auto first_of = [&](int stage) {
    return ends + static_cast<int>(std::int64_t{stage} * (num_units - 2 * ends) / pp);
  };
  StageUnits stages;
  for (int stage = 0; stage < pp; ++stage) {
    const int begin = stage == 0 ? 0 : first_of(stage);
    const int end = stage + 1 == pp ? num_units : first_of(stage + 1);
    stages.push_back({{begin, end}});
  }
  return stages;
}

std::vector<int> stage_counts(const StageUnits& stages) {
  std::map<int, int> counts;  // keyed by the first unit
  for (const std::vector<UnitRange>& ranges : stages) {
    for (const UnitRange& range : ranges) counts[range.begin] = range.end - range.begin;
  }
  std::vector<int> in_order;
  for (const auto& [begin, count] : counts) in_order.push_back(count);
  return in_order;
}

std::vector<int> stages_of(const Layout& layout, int num_units) {
  const StageUnits table = layout.stages.empty() ? even_stages(num_units, layout.pp) : layout.stages;
  DT_CHECK(static_cast<int>(table.size()) == layout.pp, "units for {} stages of {}", table.size(), layout.pp);
  std::vector<int> stages(at(num_units), -1);
  for (int stage = 0; stage < layout.pp; ++stage) {
    for (const UnitRange& range : table[at(stage)]) {
      for (int unit = range.begin; unit < range.end; ++unit) {
        DT_CHECK(unit >= 0 && unit < num_units && stages[at(unit)] < 0,
                 "unit {} of {} is held by stage {} and another", unit, num_units, stage);
        stages[at(unit)] = stage;
      }
    }
  }
  const auto missing = std::find(stages.begin(), stages.end(), -1) - stages.begin();
  DT_CHECK(missing == num_units, "unit {} is held by no stage", missing);
  return stages;
}

LayoutText::LayoutText(const std::string& text, std::string origin, std::span<const char* const> keys)
    : origin_(std::move(origin)) {
  for (const std::string& part : split(text, ',')) {
    const std::string item(trim(part));
    if (item.empty()) continue;
    const std::size_t equals = item.find('=');
    const std::string key(trim(item.substr(0, equals)));
    const bool is_known = std::find(keys.begin(), keys.end(), key) != keys.end();
    if (is_known && equals == std::string::npos)
      throw error(fmt::format("'{}' has no value", item), fmt::format("write {}=VALUE", key));
    if (!is_known)
      throw error(fmt::format("'{}' is not a layout setting", item),
                  did_you_mean(key, std::vector<std::string>(keys.begin(), keys.end())) +
                      fmt::format("expected settings: {}=", fmt::join(keys, "=, ")));
    if (!values_.emplace(key, trim(item.substr(equals + 1))).second)
      throw error(key + " is given twice", "omit one of them");
  }
}

std::int64_t LayoutText::read_number(const std::string& key, std::int64_t least, std::int64_t most) const {
  std::int64_t number = -1;
  try {
    number = parse_count(value(key));
  } catch (const Error&) {  // reported below
  }
  if (number >= least && number <= most) return number;
  throw error(fmt::format("{}={} is not valid", key, value(key)),
              fmt::format("expected a number from {} to {}", least, most));
}

void LayoutText::refuse_name(const std::string& key, const std::vector<std::string>& names) const {
  throw error(fmt::format("{}={} is not valid", key, value(key)),
              did_you_mean(value(key), names) + fmt::format("expected one of: {}", fmt::join(names, ", ")));
}

void LayoutText::read(const std::string& key, bool& is_on) const {
  if (!has(key)) return;
  if (value(key) != "on" && value(key) != "off")
    throw error(fmt::format("{}={} is not valid", key, value(key)), "expected on or off");
  is_on = value(key) == "on";
}

Error LayoutText::error(const std::string& what, const std::string& remedy) const {
  return Error(ErrorKind::usage, fmt::format("{}: {}", origin_, what), remedy);
}

}  // namespace dt::model
