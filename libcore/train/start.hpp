#pragma once
// How a run begins: anew, from other weights, or from the newest checkpoint that can be read.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/ranks.hpp"
#include "data/mixture.hpp"
#include "interchange/weight_source.hpp"
#include "parallel/groups.hpp"
#include "plan/plan.hpp"
#include "plan/settings.hpp"
#include "run/promotion.hpp"
#include "run/run_directory.hpp"
#include "train/model_runtime.hpp"

namespace dt::train {

/// A checkpoint that a run could go on from.
struct Candidate {
  fs::path path;
  bool required;  // named by the user: anything wrong with it is an error, not a reason to look further
  std::string
      local{};  // where nodes hold it, as text, until they are told to bring it to `path`; "": it is there
};

/// The checkpoint of another run with which the newest generation's line began, or "".
std::string outside_origin(const run::RunDirectory& run);

/// What --resume leads to, newest first; empty means to begin anew. A run that began with another run's
/// checkpoint has that one last. Error{input}: --resume auto finds nothing on the lineage, but the run has or
/// had checkpoints. `local`: what the nodes hold; on the lineage they are candidates where the run has none
/// of that name.
std::vector<Candidate> resume_candidates(const plan::Settings& settings, const run::RunDirectory* run,
                                         std::span<const run::LocalCheckpoint> local = {});

/// --model, else what the checkpoint or --init-from says. Special tokens belong to the weights: those of
/// --init-from stand for those of --model. Error{usage}: none of them.
model::ModelSpec choose_spec(const plan::Settings& settings, const std::vector<Candidate>& candidates);

/// Error{input}: weights of another model than --model asks for. Special tokens may differ.
void check_same_spec(const model::ModelSpec& asked, const interchange::WeightSource& found,
                     const fs::path& weights);

/// Returns the special tokens of a model that `before` were those of its weights, or of --model where the
/// weights have none, and that learns from `dataset`: the token that ends its documents ends a text.
model::SpecialTokens trained_special(const model::SpecialTokens& before, const data::Mixture& dataset);
/// Warns where `after` ends texts otherwise than `before` did.
void tell_changed_ends(const model::SpecialTokens& before, const model::SpecialTokens& after,
                       Console& console);

struct Start {
  plan::Plan plan;
  std::unique_ptr<parallel::Groups> groups;
  std::unique_ptr<ModelRuntime> runtime;  // weights and moments in place
  checkpoint::TrainingState state;
  fs::path checkpoint;                           // gone on from; empty when begun anew
  std::vector<checkpoint::Problem> passed_over;  // newer ones, newest first
};

/// Called by all ranks together with the same candidates: plans and loads, every block verified that a rank
/// reads. Damaged checkpoints are passed over with a warning, and each time counted (failed_loads.hpp).
/// Errors: input, where there are candidates and none can be loaded, or where a whole one is not of the
/// training asked for (no older one would be), before its tensors are read; environment, where the machine
/// fails to read (nothing is known of the checkpoint then), or a rank does not see what rank 0 reads.
Start prepare_start(const plan::Settings& settings, const data::Mixture& dataset,
                    const std::vector<Candidate>& candidates, const run::Promotion& promotion,
                    const plan::Launch& launch, const comm::Ranks& ranks);

/// Gives a model that begins anew its weights: those of --init-from, else initial ones. Errors: input, where
/// --init-from is another model or cannot be read. Returns what a user should know of how they were read.
std::string fill_weights(ModelRuntime& runtime, const plan::Settings& settings, const plan::Plan& plan);

/// The state of a run that has not made a step.
checkpoint::TrainingState initial_state(const plan::Plan& plan, const data::Mixture& dataset);

}  // namespace dt::train
