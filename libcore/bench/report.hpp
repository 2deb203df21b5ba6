#pragma once
// What was measured, as a table for people and as CSV and JSON for programs.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/devices.hpp"
#include "bench/links.hpp"
#include "bench/measure.hpp"

namespace dt::bench {

/// Where and how a measurement ran.
struct RunDescription {
  std::string command;
  std::string date;                                // UTC
  std::string dt_version;                          // "dt 0.1.0, gcc 12.2.0"
  std::string mpi_version;                         // "" without MPI
  std::vector<std::pair<std::string, int>> hosts;  // and the ranks on each
  std::string device = "cpu";                      // as --device says it
  std::vector<std::pair<std::string, int>> gpus;   // their names, and the ranks on each kind
  std::map<std::string, std::string> environment;  // of rank 0 (comm::environment_settings)
  int num_ranks = 1;
  std::int64_t min_bytes = 0, max_bytes = 0;
  std::string step;  // "2 (factor)"
  MeasureSettings settings;
};

/// What all ranks have, by rank: each name once, and of how many it is.
std::vector<std::pair<std::string, int>> count_names(const std::vector<std::string>& name_by_rank);
/// Arguments as a shell would take them.
std::string shell_line(const std::vector<std::string>& arguments);
/// "NCCL_DEBUG=INFO 'UCX_TLS=rc, sm'"
std::string environment_line(const RunDescription& run);

/// A line of the table.
struct Row {
  Problem problem;
  std::string backend;
  Timing out_of_place;
  std::optional<Timing> in_place;

  /// S/time, 10⁹ bytes a second; 0 where nothing is moved.
  double algorithm_bandwidth(const Timing& timing) const;
  double bus_bandwidth(const Timing& timing) const;
  std::int64_t wrong() const;
};

/// Of one operation of one backend.
struct Section {
  Operation operation;
  std::string backend;
  std::vector<Row> rows;

  /// Over all rows, out of place and in place, as nccl-tests has it.
  double mean_bus_bandwidth() const;
  std::int64_t wrong() const;
};

/// Every two ranks, by one backend.
struct LinkSection {
  std::string backend;
  std::vector<Link> links;
};

struct Results {
  std::vector<Place> places{};  // of all ranks
  std::vector<RankedDevice> devices{};
  std::vector<LinkSection> links{};
  std::vector<Section> sections{};
};

/// The table, piece by piece. Every line that is not a row begins with '#'.
std::string table_head(const RunDescription& run);
std::string table_section(Operation operation, const std::string& backend);
std::string table_row(const Row& row);
std::string table_foot(const Section& section, bool checked);

/// The whole of it, what is slow marked.
std::string device_table(const std::vector<RankedDevice>& devices);
std::string link_table(const LinkSection& section, const std::vector<Place>& places);

/// One object a line: {"kind":"run",…}, {"kind":"result",…} per row, {"kind":"summary",…} per section.
std::string json_run_line(const RunDescription& run);
std::string json_row_line(const Row& row);
std::string json_section_line(const Section& section);
/// {"kind":"device",…} per rank, {"kind":"link",…} per pair.
std::string json_device_lines(const std::vector<RankedDevice>& devices);
std::string json_link_lines(const LinkSection& section, const std::vector<Place>& places);

/// One object: what json_run_line says, "results" and "summaries"; "devices" and "links", where there are
/// any.
std::string json_document(const RunDescription& run, const Results& results);
/// A heading and a line per row; each says all, so that files can be put together. Rows of several kinds have
/// all their columns, of which others' are empty.
std::string csv_document(const RunDescription& run, const Results& results);

}  // namespace dt::bench
