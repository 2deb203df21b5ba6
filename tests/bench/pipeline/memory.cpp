#include <algorithm>
#include <fmt/format.h>
#include <mutex>

#include "bench/pipeline/rank.hpp"
#include "bench/pipeline/rows.hpp"
#include "comm/threads/thread_group.hpp"
#include "parallel/schedule/activation_peak.hpp"

namespace dt::bench {

namespace {

using model::Layout;
using model::PipelineScheduleKind;

/// Extremes over all stages: the ratio that is farthest from 1, and the most bytes and micro-batches.
struct Found {
  double ratio = 1;
  double bytes = 0;
  int micro_batches = 0;
};

double walked(const Rank& rank, std::int64_t sequence) {
  std::vector<parallel::UnitBytes> bytes;
  for (const auto& unit : rank.units()) {
    bytes.push_back({.output = unit->output_shape(1, sequence).numel() *
                               static_cast<std::int64_t>(dtype_bytes(unit->output_dtype())),
                     .saved = static_cast<std::int64_t>(unit->saved_bytes(1, sequence)),
                     .backward_handoff = static_cast<std::int64_t>(
                         unit->backward_handoff_bytes(Device::host(), 1, sequence))});
  }
  return static_cast<double>(parallel::activation_peak_bytes(rank.list(), bytes));
}

Found measure(const Setting& setting) {
  Found found;
  std::mutex mutex;
  comm::run_threads(setting.layout.pp, [&](comm::Communicator& world) {
    Count count;
    Rank rank(setting, world, [&](std::unique_ptr<model::Unit> unit, int number) {
      return std::make_unique<CountedUnit>(std::move(unit), number, count);
    });
    rank.step();
    const auto taken = static_cast<double>(rank.executor().activation_bytes());
    const double ratio = taken / walked(rank, setting.sequence);
    const std::scoped_lock lock(mutex);
    if (std::abs(ratio - 1) > std::abs(found.ratio - 1)) found.ratio = ratio;
    found.bytes = std::max(found.bytes, taken);
    found.micro_batches = std::max(found.micro_batches, count.most());
    return 0;
  });
  return found;
}

}  // namespace

void report_memory() {
  using enum model::PipelineScheduleKind;
  fmt::print("Activation memory of 4 ranks, 16 micro-batches, 8 units a rank of a llama of hidden size 64\n");
  fmt::print("  {:<18} {:>18} {:>14}   {}\n", "schedule", "micro-batches held", "most of a rank",
             "÷ the walk of its list, of the worst rank (within 0.05 of 1)");
  for (const Layout& layout : {Layout{.pp = 4, .schedule = gpipe}, Layout{.pp = 4, .schedule = one_f_one_b},
                               Layout{.pp = 4, .schedule = interleaved, .virtual_stages = 2},
                               Layout{.pp = 4, .schedule = zero_bubble},
                               Layout{.pp = 4, .schedule = zero_bubble, .virtual_stages = 2}}) {
    const Found found = measure({.layout = layout, .units_a_rank = 8, .hidden = 64, .sequence = 64});
    fmt::print("  {:<18} {:>18} {:>11.2f} MB   {:.3f}\n", name_of(layout), found.micro_batches,
               found.bytes / 1e6, found.ratio);
  }
}

}  // namespace dt::bench
