#pragma once
// Loss scaling for fp16, whose smallest numbers small gradients fall below (Micikevicius et al. 2018,
// section 3.2).

#include <cstdint>
#include <optional>

namespace dt::optim {

struct LossScaleSettings {
  /// The scale of the whole run; none: it begins at `initial` and follows what gradients bear.
  std::optional<double> fixed;
  double initial = 65536;
  std::int64_t growth_steps = 1000;  // good ones in a row before it doubles
};

/// Where dynamic scaling stands; part of a run's state.
struct LossScale {
  double value = 1;
  std::int64_t good_steps = 0;  // since it last changed
};

LossScale initial_loss_scale(const LossScaleSettings& settings);

/// After a step whose gradients were finite: doubles now and then, up to 2²⁴.
void grow(const LossScaleSettings& settings, LossScale& scale);
/// After one whose gradients were not: halves. False where the scale is fixed or already 1, and it is not the
/// scale's fault.
bool back_off(const LossScaleSettings& settings, LossScale& scale);

}  // namespace dt::optim
