#pragma once
// What a tool adds to the calls that it measures, beside a plain loop of the same calls on the same memory,
// by turns in one process, as processes differ by more than what is sought. Times are of the slowest rank, in
// µs. The memory and the processor change from second to second, so a round is loop, tool, loop, loop, loop:
// the tool, and as a check another loop, are each held against the mean of the loops just before and after,
// and the median over the rounds counts. What the check shows is how much equals differ here.

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

/// Something beside the loops just before and after it, of each round.
struct Beside {
  std::vector<double> added_us, ratios;
  void take(double before_us, double us, double after_us) {
    const double loop_us = (before_us + after_us) / 2;
    added_us.push_back(us - loop_us);
    ratios.push_back(us / loop_us);
  }
};

/// Of the check what it is off by either way: the tool's is no better known than that.
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

/// A row for each size, then the worst of all; rank 0 prints. loop_us(problem, iterations), tool_us likewise.
template <class LoopUs, class ToolUs>
void compare(Operation operation, int rank, int num_ranks, const Extent& extent, const LoopUs& loop_us,
             const ToolUs& tool_us) {
  Worst tool_worst;
  Off check_off;
  for (std::int64_t bytes = 8; bytes <= extent.max_bytes; bytes *= 2) {
    const std::vector<std::int64_t> size{bytes};
    const Problem problem = at_sizes({.operation = operation, .num_ranks = num_ranks}, size).front();
    // About as long for each size: what is sought is small beside what a moment's disturbance costs.
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
        traits(operation).name, static_cast<long long>(bytes), median(loop), median(tool.added_us),
        median(tool.ratios), median(check.added_us), median(check.ratios));
  }
  if (rank != 0) return;
  std::printf(
      "%-14s worst: %.3f us added below 64 KiB (at most 0.1), ratio %.3f from there up (at most 1.03); the "
      "loop "
      "against itself is off by up to %.3f us, %.3f\n",
      traits(operation).name, tool_worst.added_us, tool_worst.ratio, check_off.us, check_off.share);
}

}  // namespace dt::bench::overhead
