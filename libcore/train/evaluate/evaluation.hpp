#pragma once
// The validation loss and its windows, and logits for comparisons.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/ranks.hpp"
#include "data/read/mixture.hpp"
#include "plan/plan.hpp"
#include "run/run_directory.hpp"
#include "train/report/reporter.hpp"
#include "train/step/model_runtime.hpp"

namespace dt::train {

/// The validation windows of an evaluation, divided into micro-batches: the windows of each source's
/// validation split in order, source after source. No micro-batch has windows of two sources.
class ValidationWindows {
 public:
  /// `max_windows` is the most windows to take. Each source contributes its first ones, in
  /// proportion to its number of windows.
  ValidationWindows(const data::Mixture& mixture, std::int64_t sequence_length, std::int64_t micro_batch,
                    std::optional<std::uint64_t> max_windows);

  struct SourceWindows {
    std::size_t source;
    std::uint64_t first;
    std::int64_t count;
  };
  std::int64_t num_micro_batches() const { return micro_batch_ends_.back(); }
  SourceWindows micro_batch(std::int64_t index) const;
  std::uint64_t num_windows_of(std::size_t source) const { return windows_[source]; }
  std::uint64_t total() const;

 private:
  std::int64_t size_;
  std::vector<std::uint64_t> windows_;          // windows of each source
  std::vector<std::int64_t> micro_batch_ends_;  // end of each source, among all micro-batches
};

/// Returns whether a token of these windows of the mixture is a target. Reads until it finds one.
bool has_targets(const data::Mixture& mixture, const ValidationWindows& windows,
                 std::int64_t sequence_length);

struct Evaluation {
  double loss = 0;  // mean over the predicted tokens, summed exactly; NaN if there are none
  std::uint64_t tokens = 0;
  std::vector<SourceLoss> sources{};  // the sources of a mixture that have a window
  int stopped_by = 0;                 // signal that ended the evaluation without a result, or 0
};

struct EvaluationRequest {
  std::int64_t sequence_length = 0;
  bool mask_documents = false;
  std::int64_t micro_batch = 1;
  /// The number of windows of the validation split to take, the first ones; absent: all. See
  /// ValidationWindows.
  std::optional<std::uint64_t> max_windows;
  /// Called between micro-batches. If any rank returns a signal's number, the evaluation ends
  /// without a result.
  std::function<int()> stop_signal;
};

/// Returns the request that the plan describes.
EvaluationRequest evaluation_request(const plan::Plan& plan, std::function<int()> stop_signal = {});

/// Checks that the validation windows have a target.
/// Errors: input if there are windows, but none of their tokens is a target.
/// Collective: none; this rank alone.
void check_validation_targets(const data::Mixture& dataset, const EvaluationRequest& request);

/// Returns the validation loss. Each rank computes its part of the windows of the validation split
/// (see data::num_validation_windows). All ranks get the same result, which does not depend on
/// their number.
/// Errors: input if there is no complete window.
/// Collective: all ranks.
Evaluation evaluate(ModelRuntime& runtime, const data::Mixture& dataset, const EvaluationRequest& request,
                    const comm::Ranks& ranks);

/// Returns whether the plan has an evaluation after this step: the last step and each multiple of
/// --eval-every. Returns false if there is no window.
bool is_evaluation_due(const plan::Plan& plan, const data::Mixture& dataset, std::int64_t step);
/// Returns whether an evaluation is due after this step and the run's metrics lack it.
bool is_evaluation_missing(const plan::Plan& plan, const data::Mixture& dataset, const run::RunDirectory& run,
                           std::int64_t step);

/// Stores fp32 /logits [N,T,V] and int32 /tokens [N,T] of `num_sequences` validation windows (see
/// ValidationWindows). One pipeline computes them, and its last stage writes them.
/// Errors: input if there are fewer windows.
/// Collective: all ranks.
/// After a crash: the file is complete or absent.
void write_logits(ModelRuntime& runtime, const data::Mixture& dataset, const EvaluationRequest& request,
                  std::int64_t num_sequences, const std::filesystem::path& file, const comm::Ranks& ranks);

}  // namespace dt::train
