#pragma once
// Traces of the steps that a user wants to see.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "comm/ranks.hpp"
#include "plan/plan.hpp"
#include "plan/settings.hpp"
#include "plan/step_range.hpp"
#include "profile/action_trace.hpp"
#include "profile/step_profile.hpp"
#include "run/run_directory.hpp"
#include "train/model_runtime.hpp"
#include "train/stepper.hpp"

namespace dt::train {

/// Does nothing where no step is asked for. All references must outlive it.
class Profiler {
 public:
  Profiler(const plan::Settings& settings, const plan::Plan& plan, ModelRuntime& runtime,
           const run::RunDirectory& run, const run::Generation& generation, const comm::Ranks& ranks);
  /// Before each step, by all ranks together; blocks where it is to be traced.
  void begin(std::int64_t step);
  /// After a step that was made, likewise: each rank writes its trace, rank 0 tells where the time went. What
  /// cannot be written is told, too, and costs no more.
  void end(const StepTimes& times);

 private:
  struct UnderWay {
    std::shared_ptr<const DeviceClock> device_clock;
    profile::StepProfile result;
    profile::ActionTrace trace;
  };
  profile::StepProfile described(std::int64_t step) const;
  static void add_device(UnderWay& step);
  fs::path folder() const { return run_.path() / "profile"; }
  std::string problem_of_writing(const profile::StepProfile& profile) const;
  void tell(const profile::StepProfile& profile, const std::string& problem) const;

  std::optional<plan::StepRange> steps_;
  const plan::Plan& plan_;
  ModelRuntime& runtime_;
  const run::RunDirectory& run_;
  const run::Generation& generation_;
  const comm::Ranks& ranks_;
  std::unique_ptr<UnderWay> under_way_;  // the step
};

}  // namespace dt::train
