#pragma once
// The training loop.

#include <exception>
#include <functional>
#include <optional>
#include <vector>

#include "base/console.hpp"
#include "base/signals.hpp"
#include "checkpoint/run_directory.hpp"
#include "data/loader.hpp"
#include "train/decision.hpp"
#include "train/reporter.hpp"
#include "train/settings.hpp"
#include "train/start.hpp"

namespace dt::train {

/// Trains until the plan's last step or a request to stop. All references must outlive it.
class Trainer {
 public:
  Trainer(const Settings& settings, const data::TokenDataset& dataset, const checkpoint::RunDirectory& run,
          const checkpoint::Generation& generation, Start& start, const StopSignals& signals,
          Console& console);

  /// 0 when the run is complete, exit_requeue when a signal ended it after a save. Errors: input, where loss
  /// or gradients are not finite (the weights stay those of the step before); environment, where output could
  /// not be written (after a save).
  int run();

 private:
  Decision train_step();
  Decision run_actions(data::Batch& batch);
  void take_optimizer_step(double lr, double grad_scale);
  void add_squared_norm(StepReport& report);
  [[noreturn]] void refuse_not_finite(const Decision& decision);
  void log_step(const Decision& decision, double data_wait_s, double compute_s);
  /// Unless this step has been saved.
  void save();
  /// False where a signal interrupted it.
  bool evaluate();
  /// A line or row that cannot be written must not cost the training: the next decision point saves and
  /// stops.
  void report(const std::function<void()>& write);
  int save_and_stop(int signal);
  /// Reports the end; throws what kept the account from being written.
  void stop(const char* reason);

  const Settings& settings_;
  const data::TokenDataset& dataset_;
  const checkpoint::RunDirectory& run_;
  const checkpoint::Generation& generation_;
  const Plan& plan_;
  ModelRuntime& runtime_;
  checkpoint::TrainingState& state_;
  const StopSignals& signals_;
  Console& console_;
  data::Loader loader_;
  Reporter reporter_;
  parallel::ActionList actions_;
  std::vector<std::vector<optim::Segment>> segments_;  // of each group
  std::vector<double> block_sums_;
  double peak_flops_ = 0;
  std::int64_t saved_step_;
  std::exception_ptr output_failure_;

  struct Interval {  // since the last logged step
    std::int64_t steps = 0;
    double compute_s = 0;
    double data_wait_s = 0;
    double started_s = 0;
  } interval_;
};

}  // namespace dt::train
