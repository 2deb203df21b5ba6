#pragma once
// The options of dt-allreduce-bench and the measurements that they request.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cli/console.hpp"
#include "base/cli/manual.hpp"
#include "base/cli/options.hpp"
#include "bench/measure.hpp"
#include "comm/topology/gpus.hpp"

namespace dt::allreduce_bench {

struct Options {
  std::vector<std::string> operations;  // empty: all_reduce, unless devices or pairs are requested
  bool devices = false;
  bool pairs = false;
  std::vector<std::string> backends;  // empty: the launcher's default
  std::int64_t min_bytes = 8;
  std::int64_t max_bytes = std::int64_t{128} << 20;
  double step_factor = 2;
  std::optional<std::int64_t> step_bytes;
  bench::MeasureSettings measure;
  Duration timeout{300};  // per size of an operation
  DType dtype = DType::f32;
  comm::Reduction reduction = comm::Reduction::sum;
  comm::DeviceRequest device = comm::DeviceRequest::cpu;
  std::int64_t root = 0;
  double slow_below = 0.8;
  std::optional<double> min_bandwidth;  // GB/s
  std::optional<double> max_latency;    // us
  std::optional<std::string> csv;
  std::optional<std::string> json_file;

  /// Returns the operations with "all" resolved and repetitions removed.
  std::vector<bench::Operation> chosen_operations() const;
  /// Returns whether any measurement involves several ranks.
  bool has_messages() const { return pairs || !chosen_operations().empty(); }
  /// Returns the requested sizes, before they are fitted to a number of ranks.
  std::vector<std::int64_t> sizes() const;
  /// Returns the step as text: "2 (factor)", "1024 (bytes)".
  std::string step() const;
};

/// Returns dt-allreduce-bench's option table. `options` must outlive it. Its check rejects unknown
/// names and meaningless sizes (usage errors).
OptionTable make_options(Options& options);

/// A request for measurements, and the command that made it.
struct Request {
  const Options& options;
  std::vector<OptionValue> values;     // values of all options, on which ranks must agree
  std::vector<std::string> arguments;  // argv, for the record
};

/// Runs the measurements. Rank 0 writes the table, or with --json one object per line, to stdout,
/// and the requested files. Returns the exit code.
/// Errors: verification if results were wrong, after everything has been written.
int run(const Request& request, Console& console);

/// Returns the prose of the man page.
Manual manual();

}  // namespace dt::allreduce_bench
