#pragma once
// The start of a run: anew, from other weights, or from the newest readable checkpoint.

#include <memory>
#include <string>
#include <vector>

#include "base/cli/console.hpp"
#include "comm/ranks.hpp"
#include "convert/weight_source.hpp"
#include "data/read/mixture.hpp"
#include "parallel/state/groups.hpp"
#include "plan/planner.hpp"
#include "run/local/promotion.hpp"
#include "train/start/candidates.hpp"
#include "train/step/model_runtime.hpp"

namespace dt::train {

/// Returns the model: --model, else that of the checkpoint or of --init-from. Special tokens belong
/// to the weights, so those of --init-from replace those of --model.
/// Errors: usage if there is none of these.
model::ModelSpec choose_spec(const plan::ResumeRequest& request, const std::vector<Candidate>& candidates);

/// Checks that the weights are of the model that --model names. Special tokens may differ.
/// Errors: input if they are not.
void check_same_spec(const model::ModelSpec& asked, const convert::WeightSource& found,
                     const fs::path& weights);

/// Returns the special tokens of a model that trains on `dataset`. The token that ends the
/// dataset's documents is among its end-of-text ids. `before` are the tokens of its weights, or of
/// --model if the weights have none.
model::SpecialTokens training_special_tokens(const model::SpecialTokens& before,
                                             const data::Mixture& dataset);
/// Warns if the end-of-text ids in `after` differ from those in `before`.
void warn_changed_end_of_text(const model::SpecialTokens& before, const model::SpecialTokens& after,
                              Console& console);

struct Start {
  plan::Plan plan;
  std::unique_ptr<parallel::Groups> groups;
  std::unique_ptr<ModelRuntime> runtime;  // holds weights and the optimizer's state
  checkpoint::TrainingState state;
  fs::path checkpoint;                       // checkpoint that the run continues from; empty for a new run
  std::vector<checkpoint::Problem> skipped;  // newer checkpoints, newest first
};

/// Plans the run and loads its state. Every block that a rank reads is verified. Damaged
/// checkpoints are skipped with a warning, and each failure is counted (exclusion_records.hpp).
/// Errors: input if there are candidates and none can be loaded. Input, before tensors are read, if
/// a complete checkpoint is not of the requested training, since no older one would be. Environment
/// if the machine fails to read, which is no evidence against the checkpoint, or if a rank does not see
/// what rank 0 reads.
/// Collective: all ranks, with the same candidates.
Start prepare_start(const plan::Settings& settings, const data::Mixture& dataset,
                    const std::vector<Candidate>& candidates, const run::Promotion& promotion,
                    const plan::Launch& launch, const comm::Ranks& ranks);

/// Fills the weights of a model that starts anew, from --init-from or with initial weights. Returns
/// a note for the user on how they were read.
/// Errors: input if --init-from is another model or cannot be read.
std::string load_initial_weights(ModelRuntime& runtime, const plan::Plan& plan);

/// Returns the state of a run before its first step.
checkpoint::TrainingState initial_state(const plan::Plan& plan, const data::Mixture& dataset);

}  // namespace dt::train
