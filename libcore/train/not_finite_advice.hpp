#pragma once
// What a user is told to do after a loss or gradients that are not finite: which checkpoint is left, and
// which option helps.

#include <cstdint>
#include <optional>
#include <string>

namespace dt::train {

/// Where a run stands whose weights of `step` gave a loss or gradients that are not finite.
struct Standing {
  std::int64_t step = 0;
  std::int64_t first_step = 0;  // where this start began: no other weights have been loaded since
  double lr = 0;
  std::string precision;
  std::string init_from;                   // "" without --init-from
  std::optional<double> fixed_loss_scale;  // --loss-scale
  std::string checkpoint;                  // of these weights; "": they are not saved
  bool is_local = false;                   // `checkpoint` lies on the nodes alone: --resume cannot name it
  std::string older;                       // the newest older checkpoint that a start takes; "": none
  bool older_is_local = false;             // it lies on the nodes alone: `older` describes it
  std::string outside;                     // another run's checkpoint with which the run began, or ""
};

/// After a loss that is not finite: no learning rate mends it, so the advice goes back to weights whose loss
/// was finite.
std::string advise_on_weights(const Standing& standing);

/// After gradients that are not finite, of a loss that is: the weights are good and saved, and the next step
/// from them has the same gradients unless an option changes these.
std::string advise_on_gradients(const Standing& standing);

}  // namespace dt::train
