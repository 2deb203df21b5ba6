#include "kernels/softcap.hpp"

#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/simd/parallel.hpp"

#define HWY_TARGET_INCLUDE "kernels/cpu/softcap.cpp"
#include "kernels/cpu/hyperbolic_tangent.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

/// Replaces x by function(x).
template <class T, class Function>
void replace(T* x, std::int64_t count, Function function) {
  for_lanes(count, [&](std::int64_t i, auto lanes) HWY_ATTR {
    fetch_ahead(lanes, x + i);
    store(lanes, function(load(lanes, x + i)), x + i);
  });
}

void scale_and_softcap_part(double scale, double cap, const Tensor& x, std::int64_t begin, std::int64_t end) {
  const V factor = hn::Set(floats, static_cast<float>(cap == 0 ? scale : scale / cap)),
          limit = hn::Set(floats, static_cast<float>(cap));
  with_elements(x.dtype(), [&](auto element) HWY_ATTR {
    auto* const elements = x.data<decltype(element)>() + begin;
    if (cap == 0) return replace(elements, end - begin, [=](V v) HWY_ATTR { return hn::Mul(factor, v); });
    replace(elements, end - begin,
            [=](V v) HWY_ATTR { return hn::Mul(limit, hyperbolic_tangent(hn::Mul(factor, v))); });
  });
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(scale_and_softcap_part);

void scale_and_softcap(const Context& context, double scale, double cap, const Tensor& x_RV) {
  for_elements(context, x_RV.numel(), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(scale_and_softcap_part)(scale, cap, x_RV, begin, end);
  });
}

}  // namespace dt::kernels::cpu
#endif
