#include <fmt/format.h>
#include <map>

#include "bench/pipeline/rows.hpp"
#include "bench/pipeline/timed.hpp"
#include "comm/threads/thread_group.hpp"

namespace dt::bench {

namespace {

using model::Layout;
using model::PipelineScheduleKind;

constexpr Seconds equal{5e-3, 5e-3, 5e-3};

struct Case {
  Layout layout;
  Seconds seconds = equal;
};

/// Returns the bubble that pipeline_schedule.hpp states for the schedule.
double formula(const Case& c, int micro_batches) {
  const double least = (c.layout.pp - 1.0) / micro_batches;
  const auto [f, b, w] = c.seconds;
  if (c.layout.schedule != PipelineScheduleKind::zero_bubble) return least / c.layout.virtual_stages;
  return c.layout.virtual_stages == 1 ? least * (f + b - w) / c.seconds.sum()
                                      : least * f / (2 * c.seconds.sum());
}

/// Returns the measured bubble.
double measure(const Case& c) {
  const Setting setting{.layout = c.layout};
  double step_s = 0;
  comm::run_threads(c.layout.pp, [&](comm::Communicator& world) {
    const double mine = timed_step_s(setting, c.seconds, world);
    if (world.rank() == 0) step_s = mine;
    return 0;
  });
  const double measured = bubble_of(setting, c.seconds, step_s);
  const double walked = bubble_of(setting, c.seconds, walked_step_s(setting, c.seconds, 0));
  const double known = formula(c, setting.micro_batches);
  fmt::print("  {:<18} {:>3.1f}:{:.1f}:{:.1f}  {:>8.4f} {:>8.4f} {:>8.4f} {:>10.3f}\n", name_of(c.layout),
             c.seconds.forward * 1e3, c.seconds.backward_input * 1e3, c.seconds.backward_weight * 1e3,
             measured, known, walked, measured / known);
  return measured;
}

}  // namespace

void report_bubbles() {
  using enum PipelineScheduleKind;
  fmt::print("Bubbles of 4 ranks, 16 micro-batches, 16 units a rank of known times (ms)\n");
  fmt::print("  {:<18} {:>11}  {:>8} {:>8} {:>8} {:>10}\n", "schedule", "F:B:W", "measured", "formula",
             "walk", "÷ formula (within 0.10 of 1)");
  measure({{.pp = 4, .schedule = gpipe}});
  const double plain = measure({{.pp = 4, .schedule = one_f_one_b}});
  measure({{.pp = 4, .schedule = one_f_one_b}, {5e-3, 7.5e-3, 2.5e-3}});
  measure({{.pp = 4, .schedule = interleaved, .virtual_stages = 2}});
  const double h1 = measure({{.pp = 4, .schedule = zero_bubble}});
  const double v = measure({{.pp = 4, .schedule = zero_bubble, .virtual_stages = 2}});
  fmt::print(
      "  zero-bubble H1 ÷ 1F1B  {:.3f} (at most 0.40)\n  V-shaped ÷ 1F1B        {:.3f} (at most 0.18)\n",
      h1 / plain, v / plain);
}

}  // namespace dt::bench
