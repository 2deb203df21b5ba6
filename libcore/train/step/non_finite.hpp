#pragma once
// A loss or gradients that are not finite: where they first appeared, and advice to users.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/numeric/dtype.hpp"
#include "plan/action_lists.hpp"
#include "train/step/decision.hpp"
#include "train/step/model_runtime.hpp"

namespace dt::train {

/// Returns the place of the first non-finite value in words: "the output of layers.1 on rank 2,
/// samples 8 to 11". Repeats the forwards and checks each unit's output in the order of
/// micro-batches. If all outputs are finite, it checks the gradients, of the last unit first. Call
/// it after a step whose loss or gradients are not finite, before weights change. `micro_batches`
/// are this rank's of the step, which begins with sample `first_sample`. `control` has all ranks.
/// Collective: all ranks.
std::string locate_first_non_finite(const plan::Plan& plan, ModelRuntime& runtime,
                                    std::span<const model::MicroBatch> micro_batches,
                                    std::uint64_t first_sample, comm::Communicator& control);

/// Returns "step 5: loss inf and gradient norm nan are not both finite (first in …)". The
/// parenthesis is absent if `first` is "": finite gradients may also have squares that are not
/// finite.
std::string describe_non_finite(std::int64_t step, const Decision& decision, const std::string& first);

/// The state of a run whose weights of `step` gave a loss or gradients that are not finite.
struct TrainingStanding {
  std::int64_t step = 0;
  std::int64_t first_step = 0;  // step of this start's first weights; no others have been loaded since
  double lr = 0;
  DType precision = DType::f32;
  std::string init_from;                   // "" without --init-from
  std::optional<double> fixed_loss_scale;  // --loss-scale
  std::string checkpoint;                  // checkpoint of these weights; "": they are not saved
  bool is_local = false;           // `checkpoint` is on the nodes alone, so that --resume cannot name it
  std::string older;               // newest older checkpoint that a start accepts; "": none
  bool older_is_local = false;     // it is on the nodes alone; `older` describes it
  std::string foreign_checkpoint;  // another run's checkpoint that the run began with, or ""
};

/// Returns advice after a loss that is not finite. No learning rate repairs such weights, so the
/// advice is to return to weights whose loss was finite.
std::string advise_on_weights(const TrainingStanding& standing);

/// Returns advice after non-finite gradients of a finite loss. The weights are good and saved. The
/// next step from them has the same gradients unless an option changes these.
std::string advise_on_gradients(const TrainingStanding& standing);

}  // namespace dt::train
