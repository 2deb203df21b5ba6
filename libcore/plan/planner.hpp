#pragma once
// Makes plans from the settings, the model, the data, the launch and, if a run continues, its checkpoint.
// Code that works from a plan does not see the settings.

#include <cstdint>
#include <functional>
#include <string>

#include "checkpoint/manifest.hpp"
#include "data/read/mixture.hpp"
#include "plan/plan.hpp"
#include "plan/settings.hpp"

namespace dt::plan {

/// Makes the plans of a start, which may try several checkpoints.
class Planner {
 public:
  enum class Purpose { training, evaluation };
  using NeededBytes = std::function<std::uint64_t(const Plan&)>;

  /// The arguments must outlive the object. `dataset` may be null for training of simulated ranks.
  Planner(const Settings& settings, const model::ModelSpec& spec, const data::Mixture* dataset,
          const Launch& launch, Purpose purpose = Purpose::training)
      : settings_(settings), spec_(spec), dataset_(dataset), launch_(launch), purpose_(purpose) {}

  /// Returns the plan of a run that starts from step 0 or continues from `resumed`. That of an evaluation has
  /// no steps and no schedule. Without a dataset, checks of the data are left out, and --epochs is refused.
  /// Errors: usage, naming the option and what is allowed (a batch that micro-batches do not divide);
  /// input, data and model do not fit each other (vocabulary, positions, too little data).
  Plan plan(const checkpoint::TrainingState* resumed = nullptr) const;
  /// Returns the same plan, if this host and its GPU have the memory that it needs.
  /// Errors: those of plan() and of check_memory().
  Plan fitting_plan(const checkpoint::TrainingState* resumed = nullptr) const;
  /// Suggests options for this planner's settings; see plan::suggest_options_that_fit().
  std::string suggest_options_that_fit(const Plan& plan, const checkpoint::TrainingState* resumed,
                                       const NeededBytes& needed_bytes, std::uint64_t bytes) const;

 private:
  Plan plan_with(const Settings& settings, const checkpoint::TrainingState* resumed) const;

  const Settings& settings_;
  const model::ModelSpec& spec_;
  const data::Mixture* dataset_;
  const Launch& launch_;
  Purpose purpose_;
};

}  // namespace dt::plan
