// Writes CSV and JSON. Keys and columns have the same names, with the unit in them.

#include <nlohmann/json.hpp>

#include "bench/report.hpp"

namespace dt::bench {

namespace {

using Json = nlohmann::ordered_json;

std::string dumped(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Rounds to six significant digits, so that files stay short.
double rounded(double value) {
  return std::stod(fmt::format("{:.6g}", value));
}

Json to_json(const RunDescription& run) {
  Json hosts = Json::array(), gpus = Json::array();
  for (const auto& [name, ranks] : run.hosts) hosts.push_back({{"host", name}, {"ranks", ranks}});
  for (const auto& [name, ranks] : run.gpus) gpus.push_back({{"gpu", name}, {"ranks", ranks}});
  return {{"date", run.date},
          {"command", run.command},
          {"dt_version", run.dt_version},
          {"mpi_version", run.mpi_version},
          {"ranks", run.num_ranks},
          {"hosts", hosts},
          {"device", run.device},
          {"gpus", gpus},
          {"environment", Json(run.environment)},
          {"min_bytes", run.min_bytes},
          {"max_bytes", run.max_bytes},
          {"iterations", run.settings.iterations},
          {"warmup", run.settings.warmup},
          {"check", run.settings.checks}};
}

Json to_json(const Row& row, const Timing& timing) {
  return {{"time_us", rounded(timing.slowest_s * 1e6)},
          {"time_min_us", rounded(timing.fastest_s * 1e6)},
          {"time_mean_us", rounded(timing.mean_s * 1e6)},
          {"algbw_gb_s", rounded(row.algorithm_bandwidth(timing))},
          {"busbw_gb_s", rounded(row.bus_bandwidth(timing))},
          {"wrong", timing.wrong ? Json(*timing.wrong) : Json()}};
}

Json to_json(const Row& row) {
  const OperationTraits& operation = traits(row.problem.operation);
  return {{"operation", name_of(operation.kind)},
          {"backend", row.backend},
          {"size", row.problem.bytes()},
          {"count", row.problem.count()},
          {"type", operation.has_data() ? Json(name_in(dtype_names, row.problem.dtype)) : Json()},
          {"redop", operation.reduces ? Json(name_in(reduction_names, row.problem.reduction)) : Json()},
          {"root", operation.has_root() ? row.problem.root : -1},
          {"out_of_place", to_json(row, row.out_of_place)},
          {"in_place", row.in_place ? to_json(row, *row.in_place) : Json()}};
}

Json to_json(const Section& section) {
  return {{"operation", name_of(section.operation)},
          {"backend", section.backend},
          {"mean_busbw_gb_s", rounded(section.mean_bus_bandwidth())},
          {"wrong", section.wrong()}};
}

Json to_json(const RankedDevice& device) {
  Json row = {{"rank", device.rank},
              {"host", device.place.host},
              {"id", device.place.device},
              {"name", device.place.name},
              {"address", device.place.address}};
  Json slow = Json::array();
  for (std::size_t metric = 0; metric < device_metrics.size(); ++metric) {
    const auto& [name, key, unit] = device_metrics[metric];
    const bool is_measured = device.rates[metric] > 0;
    row[key] = is_measured ? Json(rounded(device.rates[metric])) : Json();
    row[std::string("median_") + key] = is_measured ? Json(rounded(device.standings[metric].median)) : Json();
    if (device.standings[metric].is_slow) slow.push_back(name);
  }
  row["slow"] = slow;
  return row;
}

Json to_json(const std::string& backend, const Link& link, const std::vector<DevicePlace>& places) {
  return {{"backend", backend},
          {"rank", link.pair.a},
          {"peer", link.pair.b},
          {"host", places[static_cast<std::size_t>(link.pair.a)].host},
          {"peer_host", places[static_cast<std::size_t>(link.pair.b)].host},
          {"within_host", link.is_within_host},
          {"latency_size", link.small_bytes},
          {"latency_us", rounded(link.latency_s * 1e6)},
          {"size", link.bytes},
          {"bandwidth_gb_s", rounded(link.gb_s())},
          {"median_bandwidth_gb_s", rounded(link.standing.median)},
          {"wrong", link.wrong ? Json(*link.wrong) : Json()},
          {"slow", link.standing.is_slow}};
}

std::string line(const char* kind, const Json& object) {
  Json whole = {{"kind", kind}};
  whole.update(object);
  return dumped(whole);
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return quoted + '"';
}

/// Returns a cell. A list becomes words.
std::string csv_cell(const Json& value) {
  if (value.is_array()) {
    std::string words;
    for (const Json& word : value) words += (words.empty() ? "" : ", ") + word.get<std::string>();
    return csv_cell(words);
  }
  return value.is_null() ? "" : csv_cell(value.is_string() ? value.get<std::string>() : value.dump());
}

/// Adds the columns of a row, in the order of its JSON. Columns of a placement have its name as a
/// prefix. A missing placement has empty cells.
void append_columns(Json& columns, const Json& row) {
  for (const auto& [key, value] : row.items()) {
    if (key == "in_place" || key == "out_of_place") {
      for (const auto& [inner, unused] : row["out_of_place"].items())
        columns[key + "_" + inner] = value.is_null() ? Json() : value[inner];
    } else {
      columns[key] = value;
    }
  }
}

/// Returns "n1:2 n2:2".
std::string joined(const std::vector<std::pair<std::string, int>>& counts, const char* separator) {
  std::string text;
  for (const auto& [name, ranks] : counts)
    text += fmt::format("{}{}:{}", text.empty() ? "" : separator, name, ranks);
  return text;
}

Json run_columns(const RunDescription& run) {
  Json columns = to_json(run);
  columns["hosts"] = joined(run.hosts, " ");
  columns["gpus"] = joined(run.gpus, ", ");  // their names have spaces
  columns["environment"] = environment_line(run);
  return columns;
}

/// Returns all rows, each with its own columns.
std::vector<Json> row_columns(const Results& results) {
  std::vector<Json> rows;
  const auto add = [&](const char* kind, const Json& row) {
    append_columns(rows.emplace_back(Json::object()), row);
    rows.back()["kind"] = kind;
  };
  for (const RankedDevice& device : results.devices) add("device", to_json(device));
  for (const LinkSection& section : results.links) {
    for (const Link& link : section.links) add("link", to_json(section.backend, link, results.places));
  }
  for (const Section& section : results.sections) {
    for (const Row& row : section.rows) add("result", to_json(row));
  }
  return rows;
}

std::string csv_line(const Json& headings, const Json& columns) {
  std::string cells;
  for (const auto& [key, unused] : headings.items())
    cells +=
        (key == headings.begin().key() ? "" : ",") + (columns.contains(key) ? csv_cell(columns[key]) : "");
  return cells + "\n";
}

}  // namespace

std::string json_run_line(const RunDescription& run) {
  return line("run", to_json(run));
}
std::string json_row_line(const Row& row) {
  return line("result", to_json(row));
}
std::string json_section_line(const Section& section) {
  return line("summary", to_json(section));
}

std::string json_device_lines(const std::vector<RankedDevice>& devices) {
  std::string lines;
  for (const RankedDevice& device : devices) lines += line("device", to_json(device));
  return lines;
}
std::string json_link_lines(const LinkSection& section, const std::vector<DevicePlace>& places) {
  std::string lines;
  for (const Link& link : section.links) lines += line("link", to_json(section.backend, link, places));
  return lines;
}

std::string json_document(const RunDescription& run, const Results& results) {
  Json document = to_json(run);
  document["results"] = Json::array();
  document["summaries"] = Json::array();
  for (const Section& section : results.sections) {
    for (const Row& row : section.rows) document["results"].push_back(to_json(row));
    document["summaries"].push_back(to_json(section));
  }
  for (const RankedDevice& device : results.devices) document["devices"].push_back(to_json(device));
  for (const LinkSection& section : results.links) {
    for (const Link& link : section.links)
      document["links"].push_back(to_json(section.backend, link, results.places));
  }
  return dumped(document, 1);
}

std::string csv_document(const RunDescription& run, const Results& results) {
  const Json shared = run_columns(run);
  const std::vector<Json> rows = row_columns(results);
  Json headings = Json::object();
  for (const Json& row : rows) headings.update(row);
  headings.update(shared);
  if (rows.empty()) return "";
  Json names = Json::object();
  for (const auto& [key, unused] : headings.items()) names[key] = key;
  std::string text = csv_line(headings, names);
  for (Json row : rows) {
    row.update(shared);
    text += csv_line(headings, row);
  }
  return text;
}

}  // namespace dt::bench
