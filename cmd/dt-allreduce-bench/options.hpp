#pragma once
// What dt-allreduce-bench can be asked.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "bench/measure.hpp"

namespace dt::allreduce_bench {

struct Options {
  std::vector<std::string> operations;  // none: all_reduce, unless devices or pairs are asked for
  bool devices = false;
  bool pairs = false;
  std::vector<std::string> backends;  // none: what the launcher suggests
  std::int64_t min_bytes = 8;
  std::int64_t max_bytes = std::int64_t{128} << 20;
  double step_factor = 2;
  std::optional<std::int64_t> step_bytes;
  bench::MeasureSettings measure;
  Duration timeout{300};  // of each size of an operation
  std::string dtype = "float";
  std::string reduction = "sum";
  std::string device = "cpu";
  std::int64_t root = 0;
  double slow_below = 0.8;
  std::optional<double> min_bandwidth;  // GB/s
  std::optional<double> max_latency;    // us
  std::optional<std::string> csv;
  std::optional<std::string> json_file;

  /// "all" and repetitions resolved.
  std::vector<bench::Operation> chosen_operations() const;
  /// Whether anything is measured that ranks do together.
  bool has_messages() const { return pairs || !chosen_operations().empty(); }
  /// Sizes asked for, before they are fitted to a number of ranks.
  std::vector<std::int64_t> sizes() const;
  /// "2 (factor)", "1024 (bytes)"
  std::string step() const;
};

/// Fills the table, whose check refuses unknown names and sizes that make no sense (usage errors).
void declare(OptionTable& table, Options& options);

}  // namespace dt::allreduce_bench
