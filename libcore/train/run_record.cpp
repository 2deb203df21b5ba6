#include "train/run_record.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/host.hpp"

namespace dt::train {

namespace {

using Json = nlohmann::ordered_json;

Json load(const fs::path& path) {
  const Json json = Json::parse(read_file(path), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("format", "") != "dt-run" || !json.contains("asked") ||
      !json["asked"].is_object()) {
    throw input_error("{} is not a run.json of dt", path.string());
  }
  if (json.value("version", 0) != 1)
    throw input_error("{} has version {}, not 1", path.string(), json.value("version", 0));
  return json;
}

/// A member of a change as text; Error{input} where it is none.
std::string text_of(const Json& object, const char* member) {
  if (!object.is_object() || !object.contains(member) || !object[member].is_string()) {
    throw input_error("run.json: a change lacks the text '{}'", member);
  }
  return object[member].get<std::string>();
}

/// Appends the layout where it is not the last start's.
bool add_layout(Json& record, const model::Layout& layout, std::int64_t generation, std::int64_t step) {
  const Json now{{"layout", layout.to_string()}, {"stage_units", model::stage_counts(layout.stages)}};
  Json& layouts = record["layouts"];  // an older dt wrote none
  if (!layouts.is_array()) layouts = Json::array();
  if (!layouts.empty() && layouts.back().is_object() && layouts.back().contains("layout") &&
      layouts.back().contains("stage_units") && layouts.back()["layout"] == now["layout"] &&
      layouts.back()["stage_units"] == now["stage_units"])
    return false;
  Json line{{"generation", generation}, {"step", step}, {"at", utc_timestamp()}};
  line.update(now);
  layouts.push_back(line);
  return true;
}

/// The options as the last start left them: what was asked first, then every change.
Json current_options(const Json& record) {
  Json options = record["asked"];
  for (const Json& change : record.value("changes", Json::array())) {
    options[text_of(change, "option")] = text_of(change, "to");
  }
  return options;
}

}  // namespace

std::string recorded_option(const fs::path& run, const std::string& name) {
  if (!fs::exists(run / "run.json")) return {};
  const Json options = current_options(load(run / "run.json"));
  return options.contains(name) ? text_of(options, name.c_str()) : "";
}

std::vector<OptionChange> record_run(const fs::path& run, const std::vector<OptionValue>& asked,
                                     const model::Layout& layout, std::int64_t generation,
                                     std::int64_t step) {
  const fs::path path = run / "run.json";
  Json now = Json::object();
  for (const OptionValue& option : asked) now[option.name] = option.value;
  if (!fs::exists(path)) {
    Json record{{"format", "dt-run"},
                {"version", 1},
                {"created", utc_timestamp()},
                {"asked", now},
                {"changes", Json::array()}};
    add_layout(record, layout, generation, step);
    write_file_atomically(path, record.dump(2) + "\n");
    return {};
  }
  Json record = load(path);
  const Json before = current_options(record);
  std::vector<OptionChange> changes;
  for (const auto& [name, value] : now.items()) {
    const std::string from = before.contains(name) ? text_of(before, name.c_str()) : "";
    if (from == value.get<std::string>()) continue;
    changes.push_back({name, from, value.get<std::string>()});
    record["changes"].push_back({{"generation", generation},
                                 {"step", step},
                                 {"at", utc_timestamp()},
                                 {"option", name},
                                 {"from", from},
                                 {"to", value}});
  }
  if (add_layout(record, layout, generation, step) || !changes.empty())
    write_file_atomically(path, record.dump(2) + "\n");
  return changes;
}

}  // namespace dt::train
