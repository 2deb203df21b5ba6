#include "train/start/run_record.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/io/atomic_files.hpp"
#include "base/io/json.hpp"
#include "base/system/host.hpp"
#include "base/text/utf8.hpp"
#include "train/start/inheritance.hpp"

namespace dt::train {

namespace {

using Json = nlohmann::ordered_json;

/// Returns nothing if the file is no JSON, because a crash or a full disk truncated it. A file of
/// another format or version counts as complete.
/// Errors: input if it is complete but no record that dt knows.
std::optional<JsonValue> load_unless_torn(const fs::path& path) {
  const std::string text = read_file(path);
  std::optional<JsonValue> record;
  try {
    record = JsonValue::parse_object(text, {path.string()});
  } catch (const Error&) {
    if (Json::accept(text)) throw;
    return std::nullopt;
  }
  if (record->string("format", "") != "dt-run")
    throw Error(ErrorKind::input, fmt::format("{} is not a run.json of dt", path.string()),
                "check --run, or restore the file from a copy");
  if (record->integer("version") != 1)
    throw Error(
        ErrorKind::input,
        fmt::format("{} has version {}; this dt reads version 1", path.string(), record->integer("version")),
        "use the dt version that wrote it");
  return record;
}

/// Appends the layout if it differs from the last start's.
bool add_layout(Json& record, const model::Layout& layout, std::int64_t generation, std::int64_t step) {
  const Json now{{"layout", layout.to_string()}, {"stage_units", model::stage_counts(layout.stages)}};
  Json& layouts = record["layouts"];  // absent in files of older versions
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

/// Returns the options as the last start left them: the first options, then every change.
RecordedOptions current_options(const JsonValue& record) {
  RecordedOptions options;
  const JsonValue asked = record.object("asked");
  for (const std::string& name : asked.names()) options[name].value = unescape_bytes(asked.string(name));
  if (const auto given = record.find("given")) {
    for (auto& [name, option] : options) option.given = false;
    for (const JsonValue& name : given->items()) {
      if (const auto option = options.find(name.string()); option != options.end())
        option->second.given = true;
    }
  }
  if (const auto paths = record.find("paths")) {
    for (const std::string& name : paths->names()) {
      if (const auto option = options.find(name); option != options.end())
        option->second.path = unescape_bytes(paths->string(name));
    }
  }
  for (const JsonValue& change :
       record.has("changes") ? record.objects("changes") : std::vector<JsonValue>()) {
    RecordedOption& option = options[change.string("option")];
    option = {.value = unescape_bytes(change.string("to"))};
    if (change.has("given")) option.given = change.boolean("given");
    if (change.has("path")) option.path = unescape_bytes(change.string("path"));
  }
  return options;
}

const OptionValue* find_option(const std::vector<OptionValue>& asked, const std::string& name) {
  const auto found = std::find_if(asked.begin(), asked.end(), [&](const auto& o) { return o.name == name; });
  return found == asked.end() ? nullptr : &*found;
}

/// Returns whether the start changes an option that this one comes after. Units then belong to
/// other stages.
bool is_dependency_changed(const InheritanceRule& kind, const std::vector<OptionValue>& asked,
                           const RecordedOptions& before) {
  if (kind.depends_on.empty()) return false;
  const OptionValue* leader = find_option(asked, kind.depends_on);
  const auto was = before.find(kind.depends_on);
  const bool is_other =
      leader != nullptr && leader->given && was != before.end() && was->second.value != leader->value;
  return is_other || is_dependency_changed(inheritance_rule(kind.depends_on), asked, before);
}

bool is_replaced(const OptionValue& option, const std::vector<OptionValue>& asked) {
  return std::any_of(asked.begin(), asked.end(), [&](const OptionValue& other) {
    return other.given && replaces(other.name, option.name);
  });
}

/// Returns the option as this start leaves it. `before` are the options that it found.
RecordedOption merge_option(const OptionValue& option, const std::vector<OptionValue>& asked,
                            const RecordedOptions& before, bool goes_on) {
  const InheritanceRule& kind = inheritance_rule(option.name);
  RecordedOption now{option.value, option.given, absolute_value(kind, option.value)};
  const auto was = before.find(option.name);
  if (was == before.end()) return now;
  const bool is_kept = goes_on && !option.given && kind.inheritance != Inheritance::never &&
                       !is_replaced(option, asked) && !is_dependency_changed(kind, asked, before);
  const bool is_same_place = !now.path.empty() && now.path == was->second.path;
  return is_kept || is_same_place ? was->second : now;
}

Json new_record(const std::vector<OptionValue>& asked) {
  Json record{{"format", "dt-run"},      {"version", 1},           {"created", utc_timestamp()},
              {"asked", Json::object()}, {"given", Json::array()}, {"paths", Json::object()},
              {"changes", Json::array()}};
  for (const OptionValue& option : asked) {
    const RecordedOption now = merge_option(option, asked, {}, false);
    record["asked"][option.name] = escape_invalid_utf8(now.value);
    if (option.given) record["given"].push_back(option.name);
    if (!now.path.empty()) record["paths"][option.name] = escape_invalid_utf8(now.path);
  }
  return record;
}

/// Returns whether a start has another value, or records for the first time that it was given.
bool has_changed(const RecordedOption& before, const RecordedOption& now, const std::string& initial) {
  return before.value != now.value || before.is_given(initial) != now.is_given(initial);
}

}  // namespace

RecordedOptions recorded_options(const fs::path& run) {
  if (!path_exists(run / "run.json")) return {};
  const auto record = load_unless_torn(run / "run.json");
  if (!record) throw input_error("{} is not a run.json of dt", (run / "run.json").string());
  return current_options(*record);
}

void check_record(const fs::path& run) {
  const fs::path path = run / "run.json";
  if (!path_exists(path)) return;
  if (const auto record = load_unless_torn(path)) current_options(*record);
}

std::string recorded_option(const fs::path& run, const std::string& name) {
  const fs::path path = run / "run.json";
  const auto record = path_exists(path) ? load_unless_torn(path) : std::nullopt;
  if (!record) return "";
  const RecordedOptions options = current_options(*record);
  const auto found = options.find(name);
  return found == options.end() ? "" : found->second.value;
}

std::vector<OptionChange> record_run(const fs::path& run, const std::vector<OptionValue>& asked, bool goes_on,
                                     const model::Layout& layout, std::int64_t generation,
                                     std::int64_t step) {
  const fs::path path = run / "run.json";
  const bool exists = path_exists(path);
  const auto recorded = exists ? load_unless_torn(path) : std::nullopt;
  if (exists && !recorded) fs::rename(path, run / fmt::format("run.json.torn.g{}", generation));
  if (!recorded) {
    Json record = new_record(asked);
    add_layout(record, layout, generation, step);
    write_file_atomically(path, record.dump(2) + "\n");
    return {};
  }
  const RecordedOptions before = current_options(*recorded);
  Json record = parse_json_object(recorded->text(), {path.string()});
  std::vector<OptionChange> changes;
  bool is_changed = add_layout(record, layout, generation, step);
  for (const OptionValue& option : asked) {
    const auto found = before.find(option.name);
    const bool is_new = found == before.end();  // in a run that an older dt began
    if (is_new && !option.given) continue;
    const RecordedOption from = is_new ? RecordedOption{.value = "", .given = false} : found->second;
    const RecordedOption now = merge_option(option, asked, before, goes_on);
    if (!has_changed(from, now, option.initial)) continue;
    if (from.value != now.value) changes.push_back({option.name, from.value, now.value});
    Json change{{"generation", generation},
                {"step", step},
                {"at", utc_timestamp()},
                {"option", option.name},
                {"from", escape_invalid_utf8(from.value)},
                {"to", escape_invalid_utf8(now.value)},
                {"given", option.given}};
    if (!now.path.empty()) change["path"] = escape_invalid_utf8(now.path);
    record["changes"].push_back(change);
    is_changed = true;
  }
  if (is_changed) write_file_atomically(path, record.dump(2) + "\n");
  return changes;
}

}  // namespace dt::train
