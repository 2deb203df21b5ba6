#include "optim/gradient_scale.hpp"

#include <algorithm>

namespace dt::optim {

namespace {

constexpr double largest = 16777216;

}  // namespace

LossScale initial_loss_scale(const LossScaleSettings& settings) {
  return {.value = settings.fixed.value_or(settings.initial), .good_steps = 0};
}

void grow(const LossScaleSettings& settings, LossScale& scale) {
  if (settings.fixed || ++scale.good_steps < settings.growth_steps) return;
  scale = {.value = std::min(2 * scale.value, largest), .good_steps = 0};
}

bool back_off(const LossScaleSettings& settings, LossScale& scale) {
  if (settings.fixed || scale.value <= 1) return false;
  scale = {.value = std::max(scale.value / 2, 1.0), .good_steps = 0};
  return true;
}

}  // namespace dt::optim
