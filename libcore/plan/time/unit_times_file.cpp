#include "plan/time/unit_times_file.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/io/atomic_files.hpp"
#include "base/io/json.hpp"
#include "model/hf/hf_config.hpp"
#include "model/parameter_table.hpp"
#include "plan/precision.hpp"
#include "plan/resumable.hpp"

namespace dt::plan {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* file_name = "unit_times.json";
constexpr std::int64_t version = 3;

void check_same(const std::string& origin, const char* what, const auto& measured, const auto& asked) {
  if (measured == asked) return;
  throw Error(ErrorKind::input,
              fmt::format("{}: {} was {} in the measured run and is now {}", origin, what, measured, asked),
              "use the options of that run, or omit --run to use predicted times");
}

/// Checks that the plan's units compute what was measured: all properties that the times depend on
/// are equal.
void check_same_units(const JsonValue& file, const std::string& origin, const Plan& plan) {
  const model::ModelSpec measured = model::parse_hf_config(file.object_text("model"), origin);
  if (const std::string what = model_difference(measured, plan.spec); !what.empty())
    throw Error(ErrorKind::input, fmt::format("{}: {}", origin, what),
                "omit --model to show the model of the run, or omit --run to use predicted times");
  check_same(origin, "--micro-batch", file.integer("micro_batch"), plan.micro_batch);
  check_same(origin, "--sequence-length", file.integer("sequence_length"), plan.sequence_length);
  check_same(origin, "--mask-documents", file.boolean("mask_documents"), plan.mask_documents);
  check_same(origin, "--precision", file.string("precision"),
             std::string(precision_name(plan.precision.compute)));
  check_same(origin, "--recompute", file.string("recompute"), std::string(name_of(plan.recompute)));
  check_same(origin, "--threads", file.integer("threads"), std::int64_t{plan.threads});
  check_same(origin, "--tp", file.integer("tp"), std::int64_t{plan.layout.tp});
  check_same(origin, "--sequence-parallel", file.boolean("sequence_parallel"), plan.layout.sequence_parallel);
  check_same(origin, "--cp", file.integer("cp"), std::int64_t{plan.layout.cp});
}

}  // namespace

void write_unit_times(const fs::path& run, const Plan& plan, const parallel::UnitTimes& times) {
  const model::ParameterTable table(plan.spec);
  Json units = Json::array();
  for (int unit = 0; unit < times.num_units(); ++unit) {
    const std::optional<parallel::UnitCost> mean = times.mean(unit);
    if (!mean) return;
    units.push_back(Json{{"unit", table.units()[static_cast<std::size_t>(unit)].name},
                         {"forward_s", mean->forward},
                         {"backward_input_s", mean->backward_input},
                         {"backward_weight_s", mean->backward_weight}});
  }
  const Json file{{"format", "dt-unit-times"},
                  {"version", version},
                  {"layout", plan.layout.to_string()},
                  {"model", parse_json(model::hf_config(plan.spec), {"model"})},
                  {"micro_batch", plan.micro_batch},
                  {"sequence_length", plan.sequence_length},
                  {"mask_documents", plan.mask_documents},
                  {"precision", precision_name(plan.precision.compute)},
                  {"recompute", name_of(plan.recompute)},
                  {"threads", plan.threads},
                  {"tp", plan.layout.tp},
                  {"sequence_parallel", plan.layout.sequence_parallel},
                  {"cp", plan.layout.cp},
                  {"units", units}};
  write_file_atomically(run / file_name, file.dump(1) + "\n");
}

std::vector<parallel::UnitCost> read_unit_times(const fs::path& run, const Plan& plan) {
  const fs::path path = run / file_name;
  if (!path_exists(path)) {
    throw Error(ErrorKind::input, fmt::format("{} does not exist", path.string()),
                "a run on CPUs writes it when it finishes; omit --run to use predicted times");
  }
  const std::string origin = path.string();
  const auto file =
      JsonValue::parse_object(read_file(path), {origin, "run training again to measure the times"});
  check_same(origin, "the format", file.string("format"), std::string("dt-unit-times"));
  check_same(origin, "the version", file.integer("version"), version);
  check_same_units(file, origin, plan);
  const model::ParameterTable table(plan.spec);
  const std::vector<JsonValue> units = file.objects("units");
  check_same(origin, "the number of units", units.size(), table.units().size());
  std::vector<parallel::UnitCost> times;
  for (const JsonValue& unit : units) {
    constexpr double longest_s = 1e6;
    times.push_back({unit.number("forward_s", 0, longest_s), unit.number("backward_input_s", 0, longest_s),
                     unit.number("backward_weight_s", 0, longest_s)});
  }
  return times;
}

}  // namespace dt::plan
