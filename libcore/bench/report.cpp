#include "bench/report.hpp"

#include <algorithm>
#include <map>

namespace dt::bench {

namespace {

/// Calls visit(row, timing) for all timings of a section.
template <class Visit>
void visit_timings(const Section& section, Visit visit) {
  for (const Row& row : section.rows) {
    visit(row, row.out_of_place);
    if (row.in_place) visit(row, *row.in_place);
  }
}

bool is_plain(const std::string& argument) {
  constexpr std::string_view plain = "_-+=.,:/@%^";
  return !argument.empty() && std::all_of(argument.begin(), argument.end(), [&](unsigned char letter) {
    return std::isalnum(letter) != 0 || plain.find(static_cast<char>(letter)) != std::string_view::npos;
  });
}

constexpr const char* missing = "N/A";

/// Returns seven columns, with as many digits as fit.
std::string time_cell(double seconds) {
  const double us = seconds * 1e6;
  return us >= 10000 ? fmt::format("{:7.0f}", us)
         : us >= 100 ? fmt::format("{:7.1f}", us)
                     : fmt::format("{:7.2f}", us);
}

std::string timing_cells(const Row& row, const std::optional<Timing>& timing) {
  if (!timing) return fmt::format("  {:>7}  {:>6}  {:>6}  {:>5}", missing, missing, missing, missing);
  const std::string wrong = timing->wrong ? std::to_string(*timing->wrong) : missing;
  return fmt::format("  {}  {:6.2f}  {:6.2f}  {:>5}", time_cell(timing->slowest_s),
                     row.algorithm_bandwidth(*timing), row.bus_bandwidth(*timing), wrong);
}

/// Returns "n1 (2), n2 (2)".
std::string listed(const std::vector<std::pair<std::string, int>>& counts) {
  std::string text;
  for (const auto& [name, ranks] : counts)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", name, ranks);
  return text;
}

std::string ranks_on_hosts(const RunDescription& run) {
  return fmt::format("{} {} on {} {}: {}", run.num_ranks, run.num_ranks == 1 ? "rank" : "ranks",
                     run.hosts.size(), run.hosts.size() == 1 ? "host" : "hosts", listed(run.hosts));
}

std::string rate_cell(double rate, double median) {
  return fmt::format("  {:>10}", median > 0 ? fmt::format("{:.4g}", rate) : missing);
}

std::string slow_metrics(const RankedDevice& device) {
  std::string names;
  for (std::size_t metric = 0; metric < device_metrics.size(); ++metric) {
    if (!device.standings[metric].is_slow) continue;
    names += fmt::format("{}{}", names.empty() ? "SLOW: " : ", ", device_metrics[metric].name);
  }
  return names;
}

std::string device_row(const RankedDevice& device) {
  std::string row = fmt::format("{:>8}", device.rank);
  for (std::size_t metric = 0; metric < device_metrics.size(); ++metric)
    row += rate_cell(device.rates[metric], device.standings[metric].median);
  row += "  " + device.place.describe();
  if (device.is_slow()) row += "  " + slow_metrics(device);
  return row + "\n";
}

/// Returns the medians of each device name once.
std::string device_medians(const std::vector<RankedDevice>& devices) {
  std::map<std::string, const RankedDevice*> first;
  for (const RankedDevice& device : devices) first.emplace(device.place.name, &device);
  std::string lines;
  for (const auto& [name, device] : first) {
    lines += "# median";
    for (const RelativeRate& standing : device->standings)
      lines += rate_cell(standing.median, standing.median);
    lines += "  " + name + "\n";
  }
  return lines;
}

std::string link_row(const Link& link, const std::vector<DevicePlace>& places) {
  const DevicePlace &one = places[static_cast<std::size_t>(link.pair.a)],
                    &other = places[static_cast<std::size_t>(link.pair.b)];
  return fmt::format("{:>8}  {:>6}  {:>7}  {:>9.2f}  {:>10.4g}  {:>6}  {} - {}{}\n", link.pair.a, link.pair.b,
                     link.is_within_host ? "within" : "between", link.latency_s * 1e6, link.gb_s(),
                     link.wrong ? std::to_string(*link.wrong) : missing, one.host, other.host,
                     link.standing.is_slow ? "  SLOW" : "");
}

std::string link_medians(const std::vector<Link>& links) {
  std::map<bool, double> medians;
  for (const Link& link : links) medians[link.is_within_host] = link.standing.median;
  std::string lines;
  for (const auto& [is_within, gb_s] : medians)
    lines += fmt::format("# median {} hosts : {:.4g} GB/s\n", is_within ? "within" : "between", gb_s);
  return lines;
}

}  // namespace

std::vector<std::pair<std::string, int>> count_names(const std::vector<std::string>& name_by_rank) {
  std::vector<std::pair<std::string, int>> counts;
  for (const std::string& name : name_by_rank) {
    auto count =
        std::find_if(counts.begin(), counts.end(), [&](const auto& known) { return known.first == name; });
    if (count == counts.end()) count = counts.insert(counts.end(), {name, 0});
    ++count->second;
  }
  return counts;
}

std::string shell_line(const std::vector<std::string>& arguments) {
  std::string line;
  for (const std::string& argument : arguments) {
    if (!line.empty()) line += ' ';
    if (is_plain(argument)) {
      line += argument;
      continue;
    }
    line += '\'';
    for (const char letter : argument) line += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    line += '\'';
  }
  return line;
}

std::string environment_line(const RunDescription& run) {
  std::vector<std::string> words;
  for (const auto& [name, value] : run.environment) words.push_back(name + "=" + value);
  return shell_line(words);
}

double Row::algorithm_bandwidth(const Timing& timing) const {
  return timing.slowest_s > 0 ? static_cast<double>(problem.bytes()) / timing.slowest_s * 1e-9 : 0;
}

double Row::bus_bandwidth(const Timing& timing) const {
  return algorithm_bandwidth(timing) * traits(problem.operation).bus_factor(problem.num_ranks);
}

std::int64_t Row::wrong() const {
  return out_of_place.wrong.value_or(0) + (in_place ? in_place->wrong.value_or(0) : 0);
}

double Section::mean_bus_bandwidth() const {
  double sum = 0;
  int count = 0;
  visit_timings(*this, [&](const Row& row, const Timing& timing) {
    sum += row.bus_bandwidth(timing);
    ++count;
  });
  return count > 0 ? sum / count : 0;
}

std::int64_t Section::wrong() const {
  std::int64_t sum = 0;
  for (const Row& row : rows) sum += row.wrong();
  return sum;
}

std::string table_head(const RunDescription& run) {
  std::string head =
      fmt::format("# {}{}{}\n", run.dt_version, run.mpi_version.empty() ? "" : "; ", run.mpi_version);
  head += fmt::format("# {}  {}\n", run.date, run.command);
  head += fmt::format("# {}\n", ranks_on_hosts(run));
  head += fmt::format("# device {}{}{}\n", run.device, run.gpus.empty() ? "" : ": ", listed(run.gpus));
  if (!run.environment.empty()) head += fmt::format("# environment {}\n", environment_line(run));
  head += fmt::format("# minBytes {} maxBytes {} step: {} warmup iters: {} iters: {} validation: {}\n",
                      run.min_bytes, run.max_bytes, run.step, run.settings.warmup, run.settings.iterations,
                      run.settings.checks);
  head += "# time: mean time per operation on the slowest rank; size: total bytes\n";
  head += "# K, M and G in --min-bytes, --max-bytes and --step-bytes are powers of 1024, as in nccl-tests\n";
  return head;
}

std::string table_section(Operation operation, const std::string& backend) {
  return fmt::format(
      "#\n"
      "# {}, backend {}\n"
      "#\n"
      "# {:50}{:^32}{:>20}\n"
      "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6} {:>6}  {:>7}  {:>6}  {:>6} {:>6}\n"
      "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6} {:>6}  {:>7}  {:>6}  {:>6}\n",
      name_of(operation), backend, "", "out-of-place", "in-place",  //
      "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw",
      "#wrong", "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)");
}

std::string table_row(const Row& row) {
  const Problem& problem = row.problem;
  const OperationTraits& operation = traits(problem.operation);
  return fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", problem.bytes(), problem.count(),
                     operation.has_data() ? name_in(dtype_names, problem.dtype) : "none",
                     operation.reduces ? name_in(reduction_names, problem.reduction) : "none",
                     operation.has_root() ? problem.root : -1, timing_cells(row, row.out_of_place),
                     timing_cells(row, row.in_place));
}

std::string table_foot(const Section& section, bool checked) {
  const std::int64_t wrong = section.wrong();
  std::string foot;
  if (checked && traits(section.operation).has_data())
    foot += fmt::format("# Out of bounds values : {} {}\n", wrong, wrong == 0 ? "OK" : "FAILED");
  if (traits(section.operation).has_data())
    foot += fmt::format("# Avg bus bandwidth    : {:.6g}\n", section.mean_bus_bandwidth());
  return foot;
}

std::string device_table(const std::vector<RankedDevice>& devices) {
  std::string names = "#   rank", units = "#       ";
  for (const DeviceMetric& metric : device_metrics) {
    names += fmt::format("  {:>10}", metric.name);
    units += fmt::format("  {:>10}", fmt::format("({})", metric.unit));
  }
  std::string table =
      "#\n# devices: matrix products (bf16 on GPUs, fp32 on CPUs); copies within the device, to and from the "
      "host\n#\n";
  table += names + "  device\n" + units + "\n";
  for (const RankedDevice& device : devices) table += device_row(device);
  return table + device_medians(devices);
}

std::string link_table(const LinkSection& section, const std::vector<DevicePlace>& places) {
  if (section.links.empty()) return "";
  std::string table = fmt::format(
      "#\n# links, backend {}: latency of {} bytes, bidirectional bandwidth of {}\n#\n"
      "#   rank    peer    hosts    latency   bandwidth  #wrong  from - to\n"
      "#                              (us)      (GB/s)\n",
      section.backend, section.links.front().small_bytes, section.links.front().bytes);
  for (const Link& link : section.links) table += link_row(link, places);
  return table + link_medians(section.links);
}

}  // namespace dt::bench
