#include "kernels/adamw.hpp"

#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/simd/parallel.hpp"

#define HWY_TARGET_INCLUDE "kernels/cpu/adamw.cpp"
#include "kernels/cpu/simd/simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

/// `copy` is null if it is absent.
template <class G, class T>
void adamw_elements(const AdamWFactors<float>& f, float* w, const G* grad, float* m, float* v, T* copy,
                    std::int64_t count) {
  const V grad_scale = hn::Set(floats, f.grad_scale), beta1 = hn::Set(floats, f.beta1);
  const V one_minus_beta1 = hn::Set(floats, f.one_minus_beta1), beta2 = hn::Set(floats, f.beta2);
  const V one_minus_beta2 = hn::Set(floats, f.one_minus_beta2), decay = hn::Set(floats, f.decay);
  const V rate = hn::Set(floats, f.rate), spread = hn::Set(floats, f.spread), eps = hn::Set(floats, f.eps);
  for_lanes(count, [=](std::int64_t i, auto lanes) HWY_ATTR {
    const V g = hn::Mul(load(lanes, grad + i), grad_scale);
    const V weight = load(lanes, w + i);
    const V first = hn::MulAdd(beta1, load(lanes, m + i), hn::Mul(one_minus_beta1, g));
    const V second = hn::MulAdd(beta2, load(lanes, v + i), hn::Mul(hn::Mul(one_minus_beta2, g), g));
    const V step = hn::Div(hn::Mul(rate, first), hn::MulAdd(hn::Sqrt(second), spread, eps));
    // Decay and step are added first: 1 − lr · weight_decay would lose most of its digits in fp32.
    const V updated = hn::Sub(weight, hn::MulAdd(decay, weight, step));
    store(lanes, updated, w + i);
    store(lanes, first, m + i);
    store(lanes, second, v + i);
    if (copy) store(lanes, updated, copy + i);
  });
}

void adamw_part(const AdamWFactors<float>& factors, const Tensor& w, const Tensor& grad, const Tensor& m,
                const Tensor& v, const Tensor& copy, std::int64_t begin, std::int64_t end) {
  with_gradients(grad.dtype(), [&](auto gradient) HWY_ATTR {
    with_elements(copy.dtype(), [&](auto element) HWY_ATTR {
      using T = decltype(element);
      adamw_elements(factors, w.data<float>() + begin, grad.data<decltype(gradient)>() + begin,
                     m.data<float>() + begin, v.data<float>() + begin,
                     copy ? copy.data<T>() + begin : nullptr, end - begin);
    });
  });
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(adamw_part);

void adamw(const Context& context, const AdamWStep& step, const Tensor& w, const Tensor& grad,
           const Tensor& m, const Tensor& v, const Tensor& copy) {
  const AdamWFactors<float> factors = factors_of<float>(step);
  for_elements(context, w.numel(), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(adamw_part)(factors, w, grad, m, v, copy, begin, end);
  });
}

}  // namespace dt::kernels::cpu
#endif
