#pragma once
// The validation loss, and logits for whoever wants to compare.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/ranks.hpp"
#include "data/mixture.hpp"
#include "plan/plan.hpp"
#include "plan/settings.hpp"
#include "run/run_directory.hpp"
#include "train/model_runtime.hpp"
#include "train/reporter.hpp"

namespace dt::train {

struct Evaluation {
  double loss = 0;  // mean over the predicted tokens, summed exactly; NaN where there are none
  std::uint64_t tokens = 0;
  std::vector<SourceLoss> sources{};  // of a mixture, those that have a window
  int stopped_by = 0;                 // the signal that ended it without a result, or 0
};

struct EvaluationRequest {
  std::int64_t sequence_length = 0;
  bool mask_documents = false;
  std::int64_t micro_batch = 1;
  /// So many windows of the validation split, its first ones; all without. See ValidationWindows.
  std::optional<std::uint64_t> max_windows;
  /// Asked between micro-batches; a signal's number on any rank ends the evaluation without a result.
  std::function<int()> stop_signal;
};

/// What --eval-batches and the plan say.
EvaluationRequest evaluation_request(const plan::Settings& settings, const plan::Plan& plan,
                                     std::function<int()> stop_signal = {});

/// Error{input}: there are windows, and no token of them is a target. Of this rank alone.
void check_validation_targets(const data::Mixture& dataset, const EvaluationRequest& request);

/// Called by all ranks together, each taking its part of the windows of the validation split (see
/// data::num_validation_windows); all get the same result, which does not depend on their number.
/// Error{input}: no complete window.
Evaluation evaluate(ModelRuntime& runtime, const data::Mixture& dataset, const EvaluationRequest& request,
                    const comm::Ranks& ranks);

/// Whether the plan has an evaluation after this step: the last, and each multiple of --eval-every; never
/// without a window.
bool is_evaluation_due(const plan::Settings& settings, const plan::Plan& plan, const data::Mixture& dataset,
                       std::int64_t step);
/// The same, where the run's metrics do not have it yet.
bool is_evaluation_missing(const plan::Settings& settings, const plan::Plan& plan,
                           const data::Mixture& dataset, const run::RunDirectory& run, std::int64_t step);

/// Stores fp32 /logits [N,T,V] and int32 /tokens [N,T] of `num_sequences` validation windows (see
/// ValidationWindows); the
/// file appears only when whole. Called by all ranks together: one pipeline computes, its last stage writes.
/// Error{input}: fewer windows than that.
void write_logits(ModelRuntime& runtime, const data::Mixture& dataset, const EvaluationRequest& request,
                  std::int64_t num_sequences, const std::filesystem::path& file, const comm::Ranks& ranks);

}  // namespace dt::train
