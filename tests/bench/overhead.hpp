#pragma once
// Measures what a tool adds to the calls that it measures, beside a plain loop of the same calls on the
// same memory. Both run by turns in one process, as processes differ by more than the overhead. Times are
// of the slowest rank, in µs. The memory and the processor change from second to second, so a round is
// loop, tool, loop, loop, loop. The tool, and another loop as a check, are each compared with the mean of
// the loops just before and after. The median over the rounds counts. The check shows how much equal loops
// differ here.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "bench/operation.hpp"

namespace dt::bench::overhead {

constexpr std::int64_t small_bytes = 64 << 10;

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Measurements of each round, compared with the loops just before and after.
struct Beside {
  std::vector<double> added_us, ratios;
  void take(double before_us, double us, double after_us) {
    const double loop_us = (before_us + after_us) / 2;
    added_us.push_back(us - loop_us);
    ratios.push_back(us / loop_us);
  }
};

/// The deviation of the check, to either side. The tool's overhead is known no better than this.
struct Off {
  double us = 0;
  double share = 0;
  void take(std::int64_t bytes, const Beside& beside) {
    if (bytes < small_bytes) {
      us = std::max(us, std::abs(median(beside.added_us)));
    } else {
      share = std::max(share, std::abs(median(beside.ratios) - 1));
    }
  }
};

struct Worst {
  double added_us = -1e9;
  double ratio = 0;
  void take(std::int64_t bytes, const Beside& beside) {
    if (bytes < small_bytes) {
      added_us = std::max(added_us, median(beside.added_us));
    } else {
      ratio = std::max(ratio, median(beside.ratios));
    }
  }
};

struct Extent {
  std::int64_t max_bytes = 16 << 20;
  int rounds = 41;
};

/// Prints a row for each size, then the worst of all; rank 0 prints. loop_us(problem, iterations) and
/// tool_us(problem, iterations) return the time of a call.
template <class LoopUs, class ToolUs>
void compare(Operation operation, int rank, int num_ranks, const Extent& extent, const LoopUs& loop_us,
             const ToolUs& tool_us) {
  Worst tool_worst;
  Off check_off;
  for (std::int64_t bytes = 8; bytes <= extent.max_bytes; bytes *= 2) {
    const std::vector<std::int64_t> size{bytes};
    const Problem problem = at_sizes({.operation = operation, .num_ranks = num_ranks}, size).front();
    // Each size takes about as long: the overhead is small beside the cost of a moment's disturbance.
    const std::int64_t iterations = std::clamp<std::int64_t>((4 << 20) / bytes, 16, 2000);
    Beside tool, check;
    std::vector<double> loop;
    for (int round = 0; round < extent.rounds; ++round) {
      const double first = loop_us(problem, iterations);
      const double between = tool_us(problem, iterations);
      const double second = loop_us(problem, iterations), third = loop_us(problem, iterations);
      tool.take(first, between, second);
      check.take(second, third, loop_us(problem, iterations));
      loop.push_back(second);
    }
    tool_worst.take(bytes, tool);
    check_off.take(bytes, check);
    if (rank != 0) continue;
    std::printf(
        "%-14s %10lld  loop %10.3f  tool: added %8.3f  ratio %6.3f  loop again: added %8.3f  ratio %6.3f\n",
        std::string(name_of(operation)).c_str(), static_cast<long long>(bytes), median(loop),
        median(tool.added_us), median(tool.ratios), median(check.added_us), median(check.ratios));
  }
  if (rank != 0) return;
  std::printf(
      "%-14s worst: %.3f us added below 64 KiB (at most 0.1), ratio %.3f from there up (at most 1.03); the "
      "loop "
      "against itself is off by up to %.3f us, %.3f\n",
      std::string(name_of(operation)).c_str(), tool_worst.added_us, tool_worst.ratio, check_off.us,
      check_off.share);
}

}  // namespace dt::bench::overhead
