#include "optim/muon.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/elementwise.hpp"

namespace dt::optim {

namespace {

/// Returns a step of SGD without decay. Both elementwise parts of Muon are such steps.
kernels::OptimizerStep sgd_step(const kernels::OptimizerStep& step, double lr, double grad_scale) {
  kernels::OptimizerStep sgd = step;
  sgd.settings.kind = OptimizerKind::sgd;
  sgd.settings.weight_decay = 0;
  sgd.lr = lr;
  sgd.grad_scale = grad_scale;
  return sgd;
}

}  // namespace

bool updates_matrices(const OptimizerSettings& settings) {
  return settings.kind == OptimizerKind::muon;
}

kernels::OptimizerStep step_of_others(const kernels::OptimizerStep& step, double peak_lr) {
  kernels::OptimizerStep others = step;
  others.settings.kind = OptimizerKind::adamw;
  if (step.settings.adam_lr > 0) others.lr *= step.settings.adam_lr / peak_lr;
  return others;
}

/// A step of Nesterov's momentum from zero weights, with a learning rate of −1, makes them its direction.
void update_momentum(const Context& context, const kernels::OptimizerStep& step, const Tensor& gradient,
                     const Tensor& momentum_B, const Tensor& direction_U) {
  const double momentum = step.settings.momentum;
  kernels::OptimizerStep nesterov = sgd_step(step, -1, step.grad_scale * (1 - momentum));
  nesterov.settings.nesterov = true;
  kernels::zero(context, direction_U);
  kernels::optimizer_step(context, nesterov, direction_U, gradient, std::array{momentum_B}, {});
}

void apply_direction(const Context& context, const kernels::OptimizerStep& step, std::int64_t rows,
                     std::int64_t columns, const Tensor& direction_X, const Tensor& weights,
                     const Tensor& copy) {
  kernels::OptimizerStep plain =
      sgd_step(step, step.lr, 0.2 * std::sqrt(static_cast<double>(std::max(rows, columns))));
  plain.settings.momentum = 0;
  plain.settings.nesterov = false;
  plain.settings.weight_decay = step.settings.weight_decay;
  kernels::optimizer_step(context, plain, weights, direction_X, {}, copy);
}

}  // namespace dt::optim
