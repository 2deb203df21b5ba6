#pragma once
// The training loop.

#include <exception>
#include <functional>
#include <optional>
#include <vector>

#include "base/system/signals.hpp"
#include "comm/ranks.hpp"
#include "data/read/mixture.hpp"
#include "plan/time/peak_flops.hpp"
#include "run/exclusion_records.hpp"
#include "run/generation.hpp"
#include "run/run_directory.hpp"
#include "run/save/local_target.hpp"
#include "run/save/saver.hpp"
#include "run/save/shared_target.hpp"
#include "train/report/non_finite_advice.hpp"
#include "train/report/reporter.hpp"
#include "train/start/start.hpp"
#include "train/step/decision.hpp"
#include "train/step/profiler.hpp"
#include "train/step/stepper.hpp"

namespace dt::train {

/// Trains until the plan's last step or a request to stop. All references must outlive this object.
/// Collective: all ranks.
class Trainer {
 public:
  /// `alive` is, on rank 0, the object that holds the run.
  Trainer(const data::Mixture& dataset, const run::RunDirectory& run, const run::Generation& generation,
          const run::RunLock* alive, Start& start, const StopSignals& signals, const comm::Ranks& ranks);

  /// Returns 0 if the run is complete, exit_requeue if a signal ended it after a save.
  /// Errors: input if a loss is not finite; its weights are not saved, and their checkpoint, if
  /// any, is marked. Input if gradients are not finite; the weights, which are those of the step
  /// before, are saved. Environment if output could not be written, after a save. Environment if a
  /// newer generation has taken the run over; nothing is saved.
  int run();

 private:
  Decision train_step();
  /// Returns whether a newer generation has the run. Rank 0 asks the file system, but not at each
  /// step.
  bool is_superseded();
  [[noreturn]] void reject_gradients(const Decision& decision);
  /// Marks the checkpoint of the weights and throws. `found` is the loss of the weights; `text` is
  /// the message.
  [[noreturn]] void reject_weights(const run::NotFiniteLoss& found, const std::string& text);
  /// Marks the checkpoint of the weights, if there is one. If marking fails, only warns: the next
  /// start gets the same result. Only on rank 0.
  void mark_not_finite(const run::NotFiniteLoss& found);
  /// Returns the state for advice. Only on rank 0.
  TrainingStanding collect_standing() const;
  /// Records that the weights of this step, and of all steps before, have given a finite loss.
  /// Collective: all ranks.
  void confirm_saved_weights(std::int64_t step);
  /// Tells the targets which checkpoints are proven up to proven_step_, which may make older ones
  /// superfluous.
  void announce_targets();
  /// Proves the last weights at a run's end by a forward pass.
  /// Collective: all ranks.
  void confirm_weights();
  void log_step(const Decision& decision, const StepTimes& times);
  /// Saves unless this step has been saved. With `goes_on`, training does not wait for the end of
  /// the save.
  void save(bool goes_on = false);
  /// Returns whether a save that is due now goes to the nodes' own storage.
  bool is_local_due() const;
  /// Warns once after a step if GPU libraries lack kernels for attention.
  /// Collective: all ranks.
  void warn_slow_attention();
  /// Waits for the save in flight, if any.
  void finish_saving();
  void report_checkpoint(const run::SavedCheckpoint& saved);
  /// Returns the signal that interrupted the evaluation, or 0.
  int evaluate();
  /// Runs `write`. If a line or row cannot be written, training is not lost: the next decision
  /// point saves and stops.
  void report(const std::function<void()>& write);
  int save_and_stop(int signal);
  /// Writes the times of units' computations on all ranks into the run directory.
  void record_unit_times();
  /// Reports the memory of rank 0's GPU.
  void announce_memory() const;
  /// Reports the end. Throws the error that kept reports from being written, if any.
  void stop(const char* reason);

  const data::Mixture& dataset_;
  const run::RunDirectory& run_;
  const run::Generation& generation_;
  const plan::Plan& plan_;
  ModelRuntime& runtime_;
  checkpoint::TrainingState& state_;
  const std::vector<checkpoint::Problem>& skipped_;
  const StopSignals& signals_;
  const comm::Ranks& ranks_;
  Reporter reporter_;
  Stepper stepper_;
  Profiler profiler_;
  run::SharedTarget shared_target_;
  std::optional<run::LocalTarget> local_target_;
  run::Saver saver_;
  plan::PeakFlops peak_;  // base of MFU
  std::optional<Progress> progress_;
  double last_supersession_check_s_;  // time of is_superseded()'s last look
  std::int64_t saved_step_;           // last step saved in the run directory
  /// The newest checkpoint in any place: its step, and its name in generations.
  struct {
    std::int64_t step = -1;
    std::string name;
    bool is_local = false;  // stored on the nodes alone
  } newest_;
  std::int64_t first_step_;  // step at which this start began
  bool has_warned_slow_attention_ = false;
  std::int64_t proven_step_ = -1;  // weights up to this step have given a finite loss
  std::exception_ptr output_failure_;

  struct Interval {  // sums since the last logged step
    std::int64_t steps = 0;
    double loss = 0;  // sum over steps
    double compute_s = 0;
    double exposed_comm_s = 0;
    double data_wait_s = 0;
    double started_s = 0;
  } interval_;
};

}  // namespace dt::train
