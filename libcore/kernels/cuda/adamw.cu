#include <cmath>

#include "kernels/adamw.hpp"
#include "kernels/cuda/launch/elements.hpp"
#include "kernels/cuda/launch/kernels.hpp"
#include "kernels/cuda/launch/vec.cuh"

namespace dt::kernels::cuda {

namespace {

/// Updates elements. `copy` may be null.
template <class W, class G, class T>
__global__ void adamw_elements(AdamWFactors<W> f, W* w, const G* grad, W* m, W* v, T* copy,
                               std::int64_t count) {
  constexpr int N = vec_size<W>;
  for_vecs<N>(count, [&](std::int64_t i, std::int64_t left) {
    const auto gradient = load_vec<N>(grad + i, left);
    auto weight = load_vec<N>(w + i, left), first = load_vec<N>(m + i, left),
         second = load_vec<N>(v + i, left);
    for (int e = 0; e < N; ++e) {
      const W g = gradient.at[e] * f.grad_scale;
      first.at[e] = f.beta1 * first.at[e] + f.one_minus_beta1 * g;
      second.at[e] = f.beta2 * second.at[e] + f.one_minus_beta2 * g * g;
      // Decay and step are added first: 1 − lr · weight_decay would lose most of its digits in fp32.
      const W step = f.rate * first.at[e] / (std::sqrt(second.at[e]) * f.spread + f.eps);
      weight.at[e] -= f.decay * weight.at[e] + step;
    }
    store_vec<N>(w + i, left, weight);
    store_vec<N>(m + i, left, first);
    store_vec<N>(v + i, left, second);
    if (copy != nullptr) store_vec<N>(copy + i, left, weight);
  });
}

/// Calls body(T()) with the type of a copy of weights of type W, or with W() if there is no copy.
/// Errors: internal, the copy is not in 16 bits beside fp32.
template <class W, class Body>
void with_copies(const Tensor& copy, const Body& body) {
  if (!copy) return body(W());
  if constexpr (std::is_same_v<W, float>) {
    if (copy.dtype() == DType::bf16) return body(BFloat16());
    if (copy.dtype() == DType::f16) return body(Float16());
  }
  DT_CHECK(false, "adamw: there is no kernel for a copy in {}", dtype_name(copy.dtype()));
}

}  // namespace

void adamw(const Context& context, const AdamWStep& step, const Tensor& w, const Tensor& grad,
           const Tensor& m, const Tensor& v, const Tensor& copy) {
  with_parameter_gradients(grad.dtype(), [&](auto gradient) {
    using G = decltype(gradient);
    using W = Value<G>;
    with_copies<W>(copy, [&](auto element) {
      using T = decltype(element);
      launch(context, "adamw", grid_for_vecs(vec_size<W>, w.numel()), adamw_elements<W, G, T>,
             factors_of<W>(step), w.data<W>(), grad.data<G>(), m.data<W>(), v.data<W>(), elements<T>(copy),
             w.numel());
    });
  });
}

}  // namespace dt::kernels::cuda
