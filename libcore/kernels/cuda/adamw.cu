#include <cmath>

#include "kernels/adamw_factors.hpp"
#include "kernels/cuda/code.cuh"
#include "kernels/cuda/kernels.hpp"

namespace dt::kernels::cuda {

namespace {

/// copy may be absent: null.
template <class W, class G, class T>
__global__ void adamw_elements(AdamWFactors<W> f, W* w, const G* grad, W* m, W* v, T* copy,
                               std::int64_t count) {
  for (std::int64_t i = first_element(); i < count; i += element_stride()) {
    const W g = load(grad + i) * f.grad_scale;
    const W first = f.beta1 * m[i] + f.one_minus_beta1 * g;
    const W second = f.beta2 * v[i] + f.one_minus_beta2 * g * g;
    // Decay and step are added first: 1 − lr · weight_decay would lose most of its digits in fp32.
    const W step = f.rate * first / (std::sqrt(second) * f.spread + f.eps);
    const W updated = w[i] - (f.decay * w[i] + step);
    w[i] = updated;
    m[i] = first;
    v[i] = second;
    if (copy != nullptr) copy[i] = T(static_cast<Value<T>>(updated));
  }
}

}  // namespace

void adamw(const Context& context, const AdamWStep& step, const Tensor& w, const Tensor& grad,
           const Tensor& m, const Tensor& v, const Tensor& copy) {
  with_elements(grad.dtype(), [&](auto gradient) {
    with_elements(copy.dtype(), [&](auto element) {
      using G = decltype(gradient);
      using W = Value<G>;
      using T = decltype(element);
      launch(context, "adamw", grid_for(w.numel()), adamw_elements<W, G, T>, factors_of<W>(step), w.data<W>(),
             grad.data<G>(), m.data<W>(), v.data<W>(), elements<T>(copy), w.numel());
    });
  });
}

}  // namespace dt::kernels::cuda
