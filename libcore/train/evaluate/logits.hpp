#pragma once
// Stores the logits of validation windows, for comparisons with other programs.

#include <cstdint>
#include <filesystem>

#include "comm/ranks.hpp"
#include "data/read/mixture.hpp"
#include "train/evaluate/evaluation.hpp"
#include "train/step/model_runtime.hpp"

namespace dt::train {

/// Stores fp32 /logits [N,T,V] and int32 /tokens [N,T] of `num_sequences` validation windows (see
/// ValidationWindows). One pipeline computes them, and its last stage writes them.
/// Errors: input if there are fewer windows.
/// Collective: all ranks.
/// After a crash: the file is complete or absent.
void write_logits(ModelRuntime& runtime, const data::Mixture& dataset, const EvaluationRequest& request,
                  std::int64_t num_sequences, const std::filesystem::path& file, const comm::Ranks& ranks);

}  // namespace dt::train
