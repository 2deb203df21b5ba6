// Formats the table that nccl-tests prints.

#include "base/text/text.hpp"
#include "bench/report.hpp"

namespace dt::bench {

namespace {

/// Returns seven columns, with as many digits as fit.
std::string time_cell(double seconds) {
  const double us = seconds * 1e6;
  return us >= 10000 ? fmt::format("{:7.0f}", us)
         : us >= 100 ? fmt::format("{:7.1f}", us)
                     : fmt::format("{:7.2f}", us);
}

std::string timing_cells(const Row& row, const std::optional<Timing>& timing) {
  constexpr const char* missing = "N/A";
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

}  // namespace

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
  head += "# time: of one operation, the mean over the iterations of the slowest rank; size: bytes in all\n";
  head += "# in --min-bytes, --max-bytes and --step-bytes K M G are powers of 1024, as in nccl-tests\n";
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
      traits(operation).name, backend, "", "out-of-place", "in-place",  //
      "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw",
      "#wrong", "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)");
}

std::string table_row(const Row& row) {
  const Problem& problem = row.problem;
  const OperationTraits& operation = traits(problem.operation);
  return fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", problem.bytes(), problem.count(),
                     operation.has_data ? name_in(dtype_names, problem.dtype) : "none",
                     operation.reduces ? name_in(reduction_names, problem.reduction) : "none",
                     operation.has_root ? problem.root : -1, timing_cells(row, row.out_of_place),
                     timing_cells(row, row.in_place));
}

std::string table_foot(const Section& section, bool checked) {
  const std::int64_t wrong = section.wrong();
  std::string foot;
  if (checked && traits(section.operation).has_data)
    foot += fmt::format("# Out of bounds values : {} {}\n", wrong, wrong == 0 ? "OK" : "FAILED");
  if (traits(section.operation).has_data)
    foot += fmt::format("# Avg bus bandwidth    : {:.6g}\n", section.mean_bus_bandwidth());
  return foot;
}

}  // namespace dt::bench
