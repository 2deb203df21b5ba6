#pragma once
// The factors of gradients before an update: loss scaling for fp16 and clipping by the global norm.

#include <cstdint>
#include <optional>

namespace dt::optim {

/// Settings of loss scaling for fp16. Without it, small gradients lie below the smallest fp16 numbers.
/// Source: Micikevicius et al. 2018, section 3.2.
struct LossScaleSettings {
  /// The scale of the whole run; none: the scale begins at `initial` and follows what gradients bear.
  std::optional<double> fixed;
  double initial = 65536;
  std::int64_t growth_steps = 1000;  // good steps in a row before the scale doubles
};

/// The state of dynamic scaling; part of a run's state.
struct LossScale {
  double value = 1;
  std::int64_t good_steps = 0;  // since the scale last changed
};

LossScale initial_loss_scale(const LossScaleSettings& settings);

/// Call after a step with finite gradients. Doubles the scale after every `growth_steps` such steps in
/// a row, up to 2²⁴.
void grow(const LossScaleSettings& settings, LossScale& scale);
/// Call after a step whose gradients were not finite. Halves the scale. Returns false if the scale
/// is fixed or already 1, so that a lower one is no remedy.
bool back_off(const LossScaleSettings& settings, LossScale& scale);

/// Returns the factor for gradients that makes their norm at most `clip_norm`. With a `clip_norm` of 0,
/// nothing is clipped.
/// Source: Pascanu et al. 2013, algorithm 1.
inline double clip_scale(double norm, double clip_norm) {
  return clip_norm > 0 && norm > clip_norm ? clip_norm / norm : 1.0;
}

}  // namespace dt::optim
