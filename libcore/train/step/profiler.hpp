#pragma once
// Traces of the steps that a user selects.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "comm/ranks.hpp"
#include "plan/plan.hpp"
#include "profile/action_trace.hpp"
#include "profile/step_profile.hpp"
#include "run/generation.hpp"
#include "run/run_directory.hpp"
#include "train/step/model_runtime.hpp"
#include "train/step/stepper.hpp"

namespace dt::train {

/// Traces the selected steps; does nothing if none is selected. All references must outlive this
/// object.
class Profiler {
 public:
  Profiler(const plan::Plan& plan, ModelRuntime& runtime, const run::RunDirectory& run,
           const run::Generation& generation, const comm::Ranks& ranks);
  /// Call it before each step. Blocks if the step is traced.
  /// Collective: all ranks.
  void begin(std::int64_t step);
  /// Call it after a completed step. Each rank writes its trace, and rank 0 reports where the time
  /// went. A trace that cannot be written is reported, and the run continues.
  /// Collective: all ranks.
  void end(const StepTimes& times);

 private:
  struct StepInProgress {
    std::shared_ptr<const DeviceClock> device_clock;
    profile::StepProfile result;
    profile::ActionTrace trace;
  };
  profile::StepProfile make_profile(std::int64_t step) const;
  static void add_device(StepInProgress& step);
  fs::path folder() const { return run_.path() / "profile"; }
  std::string write_trace_problem(const profile::StepProfile& profile) const;
  void announce(const profile::StepProfile& profile, const std::string& problem) const;

  std::optional<plan::StepRange> steps_;
  const plan::Plan& plan_;
  ModelRuntime& runtime_;
  const run::RunDirectory& run_;
  const run::Generation& generation_;
  const comm::Ranks& ranks_;
  std::unique_ptr<StepInProgress> in_progress_;  // step being traced
};

}  // namespace dt::train
