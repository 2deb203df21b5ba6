#include <cmath>

#include "kernels/reference/kernels.hpp"

namespace dt::kernels::reference {

namespace {

/// One element's update. The gradient is scaled already.
class AdamW {
 public:
  static constexpr int num_states = 2;
  explicit AdamW(const OptimizerStep& step)
      : s_(step.settings),
        lr_(step.lr),
        correction1_(1 - std::pow(step.settings.beta1, static_cast<double>(step.step))),
        correction2_(1 - std::pow(step.settings.beta2, static_cast<double>(step.step))) {}

  void operator()(double g, double& w, double* states) const {
    double& first = states[0];
    double& second = states[1];
    first = s_.beta1 * first + (1 - s_.beta1) * g;
    second = s_.beta2 * second + (1 - s_.beta2) * g * g;
    const double decayed = w * (1 - lr_ * s_.weight_decay);
    w = decayed - lr_ * (first / correction1_) / (std::sqrt(second / correction2_) + s_.eps);
  }

 private:
  OptimizerSettings s_;
  double lr_, correction1_, correction2_;
};

class Sgd {
 public:
  static constexpr int num_states = 0;
  explicit Sgd(const OptimizerStep& step) : s_(step.settings), lr_(step.lr) {}

  void operator()(double g, double& w, double*) const { w = w * (1 - lr_ * s_.weight_decay) - lr_ * g; }

 private:
  OptimizerSettings s_;
  double lr_;
};

class SgdMomentum {
 public:
  static constexpr int num_states = 1;
  explicit SgdMomentum(const OptimizerStep& step) : s_(step.settings), lr_(step.lr) {}

  void operator()(double g, double& w, double* states) const {
    states[0] = s_.momentum * states[0] + g;
    const double direction = s_.nesterov ? g + s_.momentum * states[0] : states[0];
    w = w * (1 - lr_ * s_.weight_decay) - lr_ * direction;
  }

 private:
  OptimizerSettings s_;
  double lr_;
};

class Lion {
 public:
  static constexpr int num_states = 1;
  explicit Lion(const OptimizerStep& step) : s_(step.settings), lr_(step.lr) {}

  void operator()(double g, double& w, double* states) const {
    const double direction = s_.beta1 * states[0] + (1 - s_.beta1) * g;
    const double sign = direction > 0 ? 1 : direction < 0 ? -1 : 0;
    w = w * (1 - lr_ * s_.weight_decay) - lr_ * sign;
    states[0] = s_.beta2 * states[0] + (1 - s_.beta2) * g;
  }

 private:
  OptimizerSettings s_;
  double lr_;
};

/// Calls body(rule) with the optimizer's rule.
template <class Body>
auto with_rule(const OptimizerStep& step, const Body& body) {
  switch (step.settings.kind) {
    case OptimizerKind::adamw:
      return body(AdamW(step));
    case OptimizerKind::sgd:
      return step.settings.momentum > 0 ? body(SgdMomentum(step)) : body(Sgd(step));
    case OptimizerKind::lion:
      return body(Lion(step));
    case OptimizerKind::muon:
    case OptimizerKind::adafactor:
      break;
  }
  DT_CHECK(false, "there is no update by elements of optimizer {}", static_cast<int>(step.settings.kind));
}

template <class T, class Rule>
void update(const Rule& rule, double grad_scale, const Tensor& w, const Tensor& grad,
            std::span<const Tensor> states) {
  for (std::int64_t i = 0; i < w.numel(); ++i) {
    double values[1 + Rule::num_states];  // the weight and its states
    const auto tensor_of = [&](int k) -> const Tensor& {
      return k == 0 ? w : states[static_cast<std::size_t>(k - 1)];
    };
    for (int k = 0; k <= Rule::num_states; ++k) values[k] = tensor_of(k).template data<T>()[i];
    rule(grad.data<T>()[i] * grad_scale, values[0], values + 1);
    for (int k = 0; k <= Rule::num_states; ++k)
      tensor_of(k).template data<T>()[i] = static_cast<T>(values[k]);
  }
}

/// Updates elements whose states are bf16.
void update_rounding(const AdamW& rule, const OptimizerStep& step, const Tensor& w, const Tensor& grad,
                     std::span<const Tensor> states) {
  const RoundingBits bits = step.rounding_bits();
  for (std::int64_t i = 0; i < w.numel(); ++i) {
    const std::int64_t index = bits.elements.index(i);
    const std::uint32_t word = philox(bits.counter(index / 4), bits.key)[static_cast<std::size_t>(index % 4)];
    BFloat16* const stored[] = {states[0].data<BFloat16>() + i, states[1].data<BFloat16>() + i};
    double value = w.data<float>()[i];
    double moments[] = {static_cast<float>(*stored[0]), static_cast<float>(*stored[1])};
    rule(grad.data<float>()[i] * step.grad_scale, value, moments);
    w.data<float>()[i] = static_cast<float>(value);
    stored[0]->bits = round_stochastically(static_cast<float>(moments[0]), word);
    stored[1]->bits = round_stochastically(static_cast<float>(moments[1]), word >> 16);
  }
}

}  // namespace

template <class T>
void optimizer_step(const Context& context, const OptimizerStep& step, const Tensor& w, const Tensor& grad,
                    std::span<const Tensor> states, const Tensor& copy) {
  if (!states.empty() && states.front().dtype() == DType::bf16)
    update_rounding(AdamW(step), step, w, grad, states);
  else
    with_rule(step, [&](const auto& rule) { update<T>(rule, step.grad_scale, w, grad, states); });
  if (copy) cast(context, w, copy);
}

template decltype(kernels::optimizer_step) optimizer_step<float>;
template decltype(kernels::optimizer_step) optimizer_step<double>;

int num_optimizer_states(const OptimizerSettings& settings) {
  return with_rule({.settings = settings, .lr = 0, .step = 1, .grad_scale = 1},
                   [](const auto& rule) { return rule.num_states; });
}

}  // namespace dt::kernels::reference
