#pragma once
// Validation windows as a rank's micro-batches, and their forwards.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/read/loader.hpp"
#include "data/read/mixture.hpp"
#include "train/evaluate/evaluation.hpp"
#include "train/evaluate/validation_windows.hpp"
#include "train/step/micro_batches.hpp"
#include "train/step/model_runtime.hpp"

namespace dt::train {

/// Validation windows in micro-batches. There must be no more than the request's.
struct WindowBatches {
  std::vector<data::Batch> batches;
  std::vector<MicroBatches> rows;  // rows of each batch
  std::vector<model::MicroBatch> micro_batches;
  std::vector<std::size_t> sources;  // source of each micro-batch

  /// Adds `windows`. Counts their targets in `targets`, by source, if this rank counts targets.
  void add(ModelRuntime& runtime, const data::Mixture& dataset, const EvaluationRequest& request,
           const ValidationWindows::SourceWindows& windows, std::vector<std::int64_t>& targets);
};

/// Runs the forwards and waits for them. `rounds` is the most micro-batches that any rank has.
void forward(ModelRuntime& runtime, const WindowBatches& windows, std::int64_t rounds,
             const parallel::StepHooks& hooks);

}  // namespace dt::train
