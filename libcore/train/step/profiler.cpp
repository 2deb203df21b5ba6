#include "train/step/profiler.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "comm/exchange.hpp"
#include "profile/step_profile.hpp"
#include "profile/trace_file.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::train {

using profile::StepProfile;

Profiler::Profiler(const plan::Plan& plan, ModelRuntime& runtime, const run::RunDirectory& run,
                   const run::Generation& generation, const comm::Ranks& ranks)
    : steps_(plan.profiled_steps),
      plan_(plan),
      runtime_(runtime),
      run_(run),
      generation_(generation),
      ranks_(ranks) {}

void Profiler::begin(std::int64_t step) {
  if (!steps_ || !steps_->contains(step)) return;
  const Context& context = runtime_.context();
  const auto clock =
      context.device() == Device::host() ? nullptr : std::make_shared<const DeviceClock>(context.stream());
  const parallel::Groups& groups = runtime_.storage().ranks();
  in_progress_.reset(
      new StepInProgress{clock, make_profile(step), {runtime_.executor(), groups, context, clock}});
  in_progress_->result.clock = comm::synchronize_clocks(ranks_.world);
  ranks_.world.engine().recorder().start_details(clock);
  in_progress_->result.step_time.start_s = monotonic_s();
}

void Profiler::end(const StepTimes& times) {
  if (!in_progress_) return;
  const std::unique_ptr<StepInProgress> step = std::move(in_progress_);
  StepProfile& result = step->result;
  result.step_time.end_s = monotonic_s();
  result.data_wait_s = times.data_wait_s;
  result.exposed_communication = step->trace.exposed_communication();
  result.actions = step->trace.actions();
  if (step->device_clock) add_device(*step);
  comm::Recorder& recorder = ranks_.world.engine().recorder();
  result.operations = recorder.take_details();
  result.groups = recorder.snapshot().groups;
  announce(result, write_trace_problem(result));
}

/// Extends the step to the end of its work on the device.
void Profiler::add_device(StepInProgress& step) {
  StepProfile& result = step.result;
  result.is_on_device = true;
  result.device_error_s = step.device_clock->error_s();
  for (const profile::TracedAction& traced : result.actions)
    result.step_time.end_s = std::max(result.step_time.end_s, traced.device.end_s);
}

/// Returns "" if the trace was written.
std::string Profiler::write_trace_problem(const StepProfile& profile) const {
  try {
    profile::write_trace(folder(), profile);
    return "";
  } catch (...) {
    return fmt::format("rank {} on {}: {}", profile.rank, profile.host, current_error().message());
  }
}

void Profiler::announce(const StepProfile& profile, const std::string& problem) const {
  double error_s = profile.clock.error_s;
  ranks_.world.all_reduce(host_tensor(error_s), host_tensor(error_s), Reduction::max).wait_host();
  for (const std::string& text : comm::gather_texts(ranks_.world, problem)) {
    if (!text.empty()) ranks_.console.warn("the profile of step {} is incomplete: {}", profile.step, text);
  }
  const std::string clocks =
      ranks_.world.size() > 1 ? fmt::format(", clocks within {:.0f} µs", error_s * 1e6) : "";
  ranks_.console.info("profile of step {}, rank 0: {} ({}{})", profile.step, profile::summarize_step(profile),
                      folder().string(), clocks);
}

StepProfile Profiler::make_profile(std::int64_t step) const {
  StepProfile profile;
  profile.step = step;
  profile.generation = generation_.number;
  profile.rank = ranks_.world.rank();
  profile.host = host_name();
  profile.role = ranks_.world.engine().recorder().role();
  profile.layout = plan_.layout.to_string();
  for (int unit = 0; unit < runtime_.num_units(); ++unit)
    profile.unit_names.push_back(runtime_.unit_name(unit));
  return profile;
}

}  // namespace dt::train
