#include <cmath>

#include "kernels/reference/kernels.hpp"

namespace dt::kernels::reference {

template <class T>
void adamw(const Context& context, const AdamWStep& step, const Tensor& w, const Tensor& grad,
           const Tensor& m, const Tensor& v, const Tensor& copy) {
  const double correction1 = 1 - std::pow(step.beta1, static_cast<double>(step.step));
  const double correction2 = 1 - std::pow(step.beta2, static_cast<double>(step.step));
  for (std::int64_t i = 0; i < w.numel(); ++i) {
    const double g = grad.data<T>()[i] * step.grad_scale;
    const double first = step.beta1 * m.data<T>()[i] + (1 - step.beta1) * g;
    const double second = step.beta2 * v.data<T>()[i] + (1 - step.beta2) * g * g;
    const double decayed = w.data<T>()[i] * (1 - step.lr * step.weight_decay);
    const double update = step.lr * (first / correction1) / (std::sqrt(second / correction2) + step.eps);
    w.data<T>()[i] = static_cast<T>(decayed - update);
    m.data<T>()[i] = static_cast<T>(first);
    v.data<T>()[i] = static_cast<T>(second);
  }
  if (copy) cast(context, w, copy);
}

template decltype(kernels::adamw) adamw<float>;
template decltype(kernels::adamw) adamw<double>;

}  // namespace dt::kernels::reference
