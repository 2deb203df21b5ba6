#pragma once
// Writes measurements as a table for people, and as CSV and JSON for programs.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/devices.hpp"
#include "bench/links.hpp"
#include "bench/measure.hpp"

namespace dt::bench {

/// The place and the settings of a measurement.
struct RunDescription {
  std::string command;
  std::string date;                                // UTC
  std::string dt_version;                          // "dt 0.2.0, gcc 12.2.0"
  std::string mpi_version;                         // "" without MPI
  std::vector<std::pair<std::string, int>> hosts;  // names, and the ranks on each
  std::string device = "cpu";                      // as --device says it
  std::vector<std::pair<std::string, int>> gpus;   // names, and the ranks on each kind
  std::map<std::string, std::string> environment;  // rank 0's (comm::environment_settings)
  int num_ranks = 1;
  std::int64_t min_bytes = 0, max_bytes = 0;
  std::string step;  // "2 (factor)"
  MeasureSettings settings;
};

/// Returns each name once, with the number of ranks that have it.
std::vector<std::pair<std::string, int>> count_names(const std::vector<std::string>& name_by_rank);
/// Returns arguments as a shell would take them.
std::string shell_line(const std::vector<std::string>& arguments);
/// Returns "NCCL_DEBUG=INFO 'UCX_TLS=rc, sm'".
std::string environment_line(const RunDescription& run);

/// A line of the table.
struct Row {
  Problem problem;
  std::string backend;
  Timing out_of_place;
  std::optional<Timing> in_place;

  /// Returns S/time in 10⁹ bytes a second; 0 where nothing is moved.
  double algorithm_bandwidth(const Timing& timing) const;
  double bus_bandwidth(const Timing& timing) const;
  std::int64_t wrong() const;
};

/// The rows of one operation of one backend.
struct Section {
  Operation operation;
  std::string backend;
  std::vector<Row> rows;

  /// Returns the mean over all rows, out of place and in place, as nccl-tests does.
  double mean_bus_bandwidth() const;
  std::int64_t wrong() const;
};

/// The links between every two ranks, by one backend.
struct LinkSection {
  std::string backend;
  std::vector<Link> links;
};

struct Results {
  std::vector<DevicePlace> places{};  // by rank
  std::vector<RankedDevice> devices{};
  std::vector<LinkSection> links{};
  std::vector<Section> sections{};
};

/// Return parts of the table, which is as nccl-tests prints it. Every line that is not a row begins with '#'.
std::string table_head(const RunDescription& run);
std::string table_section(Operation operation, const std::string& backend);
std::string table_row(const Row& row);
std::string table_foot(const Section& section, bool checked);

/// Return a whole table, with slow devices or links marked.
std::string device_table(const std::vector<RankedDevice>& devices);
std::string link_table(const LinkSection& section, const std::vector<DevicePlace>& places);

/// Return one object as a line: {"kind":"run",…}, {"kind":"result",…} per row, {"kind":"summary",…}
/// per section.
std::string json_run_line(const RunDescription& run);
std::string json_row_line(const Row& row);
std::string json_section_line(const Section& section);
/// Return {"kind":"device",…} per rank, {"kind":"link",…} per pair.
std::string json_device_lines(const std::vector<RankedDevice>& devices);
std::string json_link_lines(const LinkSection& section, const std::vector<DevicePlace>& places);

/// Returns one object with the members of json_run_line(), "results" and "summaries"; also
/// "devices" and "links", if there are any.
std::string json_document(const RunDescription& run, const Results& results);
/// Returns a heading and a line per row. Each line is complete by itself, so that files can be
/// concatenated. Rows of every kind have the columns of all kinds; columns of other kinds are
/// empty.
std::string csv_document(const RunDescription& run, const Results& results);

}  // namespace dt::bench
