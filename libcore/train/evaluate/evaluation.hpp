#pragma once
// The validation loss.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "comm/ranks.hpp"
#include "data/read/mixture.hpp"
#include "plan/plan.hpp"
#include "run/run_directory.hpp"
#include "train/report/reporter.hpp"
#include "train/step/model_runtime.hpp"

namespace dt::train {

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

/// Returns the record of an evaluation with the weights and, if present, of one with their average.
EvalRecord eval_record(std::int64_t step, const Evaluation& weights,
                       const std::optional<Evaluation>& average);

/// Returns whether the plan has an evaluation after this step: the last step and each multiple of
/// --eval-every. Returns false if there is no window.
bool is_evaluation_due(const plan::Plan& plan, const data::Mixture& dataset, std::int64_t step);
/// Returns whether an evaluation is due after this step and the run's metrics lack it.
bool is_evaluation_missing(const plan::Plan& plan, const data::Mixture& dataset, const run::RunDirectory& run,
                           std::int64_t step);

}  // namespace dt::train
