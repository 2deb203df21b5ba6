#pragma once
// Advice to users after a loss or gradients that are not finite: the checkpoint that is left and
// the option that helps.

#include <cstdint>
#include <optional>
#include <string>

#include "base/numeric/dtype.hpp"

namespace dt::train {

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
