#include "bench/pipeline/timed.hpp"

#include <algorithm>

#include "base/system/host.hpp"
#include "parallel/schedule/timeline.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::bench {

using parallel::ActionKind;

namespace {

constexpr int num_steps = 3;

double most(double value, comm::Communicator& world) {
  const Tensor cell = host_tensor(value);
  world.all_reduce(cell, cell, comm::Reduction::max).wait_host();
  return value;
}

double seconds_of(const Seconds& seconds, const parallel::Action& action) {
  if (action.kind == ActionKind::forward) return seconds.forward;
  return action.kind == ActionKind::backward_input ? seconds.backward_input : seconds.backward_weight;
}

}  // namespace

double timed_step_s(const Setting& setting, const Seconds& seconds, comm::Communicator& world) {
  SleepingProcessor processor;
  Rank rank(setting, world, [&](std::unique_ptr<model::Unit> unit, int) {
    return std::make_unique<SleepingUnit>(std::move(unit), processor, seconds);
  });
  std::vector<double> times;
  for (int step = 0; step < num_steps; ++step) {
    world.barrier().wait_host();
    const double began_s = monotonic_s();
    rank.step();
    times.push_back(most(processor.last_s() - began_s, world));
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

double walked_step_s(const Setting& setting, const Seconds& seconds, double send_s) {
  const auto takes = [&](int, const parallel::Action& action) {
    if (action.computes()) return seconds_of(seconds, action);
    return action.kind == ActionKind::send ? send_s : 0;
  };
  return parallel::simulate_timeline(lists_of(setting), 1, {takes}).end_s();
}

double bubble_of(const Setting& setting, const Seconds& seconds, double step_s) {
  return step_s / (seconds.sum() * setting.units_a_rank * setting.micro_batches) - 1;
}

}  // namespace dt::bench
