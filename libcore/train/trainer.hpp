#pragma once
// The training loop.

#include <exception>
#include <functional>
#include <optional>
#include <vector>

#include "base/signals.hpp"
#include "comm/ranks.hpp"
#include "data/mixture.hpp"
#include "plan/settings.hpp"
#include "run/local_target.hpp"
#include "run/not_finite.hpp"
#include "run/run_directory.hpp"
#include "run/saver.hpp"
#include "run/shared_target.hpp"
#include "train/decision.hpp"
#include "train/not_finite_advice.hpp"
#include "train/profiler.hpp"
#include "train/reporter.hpp"
#include "train/start.hpp"
#include "train/stepper.hpp"

namespace dt::train {

/// Trains until the plan's last step or a request to stop; all ranks together. All references must outlive
/// it.
class Trainer {
 public:
  /// `alive`: on rank 0, what holds the run.
  Trainer(const plan::Settings& settings, const data::Mixture& dataset, const run::RunDirectory& run,
          const run::Generation& generation, const run::LiveRun* alive, Start& start,
          const StopSignals& signals, const comm::Ranks& ranks);

  /// 0 when the run is complete, exit_requeue when a signal ended it after a save. Errors: input, where a
  /// loss is not finite (its weights are not saved; their checkpoint, if there is one, is marked) or
  /// gradients are not (the weights, which are those of the step before, are saved); environment, where
  /// output could not be written (after a save), or where a newer generation has taken the run over (nothing
  /// is saved).
  int run();

 private:
  Decision train_step();
  /// Asked of the file system on rank 0, and not at each step.
  bool is_superseded();
  [[noreturn]] void refuse_gradients(const Decision& decision);
  /// `found`: what was computed from the weights, `text`: the whole of it for the message.
  [[noreturn]] void refuse_weights(const run::NotFiniteLoss& found, const std::string& text);
  /// On rank 0: marks the checkpoint of the weights, where there is one. What keeps it from that is warned
  /// of: the next start finds the same.
  void mark(const run::NotFiniteLoss& found);
  /// On rank 0, for messages.
  Standing standing() const;
  /// Called by all ranks together: the weights of this step have given a finite loss, and so have all before.
  void tell_proven(std::int64_t step);
  /// What has been saved up to proven_step_ may make older ones superfluous.
  void tell_targets();
  /// Called by all ranks together at a run's end: a forward pass.
  void prove();
  void log_step(const Decision& decision, const StepTimes& times);
  /// Unless this step has been saved. `goes_on`: training need not wait for its end.
  void save(bool goes_on = false);
  /// Whether a save that is due now goes to the nodes' own storage.
  bool is_local_due() const;
  /// Called by all ranks together, after a step: once, where GPUs' libraries lack kernels for attention.
  void tell_slow_attention();
  /// Waits for the save under way, if any.
  void finish_saving();
  void announce(const run::SavedCheckpoint& saved);
  /// The signal that interrupted it, or 0.
  int evaluate();
  /// A line or row that cannot be written must not cost the training: the next decision point saves and
  /// stops.
  void report(const std::function<void()>& write);
  int save_and_stop(int signal);
  /// What units' computations took on all ranks, into the run directory.
  void record_unit_times();
  /// Of its GPU, by rank 0.
  void tell_memory() const;
  /// Reports the end; throws what kept the account from being written.
  void stop(const char* reason);

  const plan::Settings& settings_;
  const data::Mixture& dataset_;
  const run::RunDirectory& run_;
  const run::Generation& generation_;
  const plan::Plan& plan_;
  ModelRuntime& runtime_;
  checkpoint::TrainingState& state_;
  const std::vector<checkpoint::Problem>& passed_over_;
  const StopSignals& signals_;
  const comm::Ranks& ranks_;
  Reporter reporter_;
  Stepper stepper_;
  Profiler profiler_;
  run::SharedTarget shared_target_;
  std::optional<run::LocalTarget> local_target_;
  run::Saver saver_;
  struct Peak {
    double flops = 0;  // of all ranks
    std::string base;  // as TrainRecord::mfu_base
  };
  Peak find_peak() const;
  Peak peak_;  // that MFU refers to
  std::optional<Progress> progress_;
  double looked_for_newer_s_;  // when is_superseded looked last
  std::int64_t saved_step_;    // in the run directory
  /// The newest checkpoint and its step, wherever it is; the name that generations call it by.
  struct {
    std::int64_t step = -1;
    std::string name;
    bool is_local = false;  // on the nodes alone
  } newest_;
  std::int64_t first_step_;  // where this start began
  bool has_told_slow_attention_ = false;
  std::int64_t proven_step_ = -1;  // weights up to this step have given a finite loss
  std::exception_ptr output_failure_;

  struct Interval {  // since the last logged step
    std::int64_t steps = 0;
    double loss = 0;  // the sum of the steps'
    double compute_s = 0;
    double exposed_comm_s = 0;
    double data_wait_s = 0;
    double started_s = 0;
  } interval_;
};

}  // namespace dt::train
