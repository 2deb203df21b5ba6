// CSV and JSON. Keys and columns have one name in both, with the unit in it.

#include <nlohmann/json.hpp>

#include "bench/report.hpp"

namespace dt::bench {

namespace {

using Json = nlohmann::ordered_json;

std::string dumped(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// To the digit that means something, so that files stay short.
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
  return {{"operation", operation.name},
          {"backend", row.backend},
          {"size", row.problem.bytes()},
          {"count", row.problem.count()},
          {"type", operation.has_data ? Json(name_of(row.problem.dtype)) : Json()},
          {"redop", operation.reduces ? Json(name_of(row.problem.reduction)) : Json()},
          {"root", operation.has_root ? row.problem.root : -1},
          {"out_of_place", to_json(row, row.out_of_place)},
          {"in_place", row.in_place ? to_json(row, *row.in_place) : Json()}};
}

Json to_json(const Section& section) {
  return {{"operation", traits(section.operation).name},
          {"backend", section.backend},
          {"mean_busbw_gb_s", rounded(section.mean_bus_bandwidth())},
          {"wrong", section.wrong()}};
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

std::string csv_cell(const Json& value) {
  return value.is_null() ? "" : csv_cell(value.is_string() ? value.get<std::string>() : value.dump());
}

/// Columns of a row, in the order of its JSON; a placement's are prefixed. One that is missing has empty
/// cells.
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

/// "n1:2 n2:2"
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
  return columns;
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

std::string json_document(const RunDescription& run, const std::vector<Section>& sections) {
  Json document = to_json(run);
  document["results"] = Json::array();
  document["summaries"] = Json::array();
  for (const Section& section : sections) {
    for (const Row& row : section.rows) document["results"].push_back(to_json(row));
    document["summaries"].push_back(to_json(section));
  }
  return dumped(document, 1);
}

std::string csv_document(const RunDescription& run, const std::vector<Section>& sections) {
  const Json shared = run_columns(run);
  std::string text;
  for (const Section& section : sections) {
    for (const Row& row : section.rows) {
      Json columns = Json::object();
      append_columns(columns, to_json(row));
      columns.update(shared);
      std::string heading, cells;
      for (const auto& [key, value] : columns.items()) {
        heading += (heading.empty() ? "" : ",") + key;
        cells += (cells.empty() ? "" : ",") + csv_cell(value);
      }
      if (text.empty()) text = heading + "\n";
      text += cells + "\n";
    }
  }
  return text;
}

}  // namespace dt::bench
