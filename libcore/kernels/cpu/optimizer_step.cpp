#include "kernels/optimizer_step.hpp"

#include <array>

#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/simd/parallel.hpp"

#define HWY_TARGET_INCLUDE "kernels/cpu/optimizer_step.cpp"
#include "kernels/cpu/simd/simd.hpp"
#include "kernels/optimizer_rules.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

/// Updates tensors[0], the weights, and the states behind it. `copy` is null if it is absent.
template <class Rule, class G, class T>
void update_elements(const Rule& rule, std::array<float*, 1 + Rule::num_states> tensors, const G* grad,
                     T* copy, std::int64_t count) {
  for_lanes(count, [=](std::int64_t i, auto lanes) HWY_ATTR {
    V values[1 + Rule::num_states];
    for (std::size_t k = 0; k < tensors.size(); ++k) values[k] = load(lanes, tensors[k] + i);
    rule(load(lanes, grad + i), values[0], values + 1);
    for (std::size_t k = 0; k < tensors.size(); ++k) store(lanes, values[k], tensors[k] + i);
    if (copy) store(lanes, values[0], copy + i);
  });
}

void optimizer_step_part(const OptimizerStep& step, const Tensor& w, const Tensor& grad,
                         std::span<const Tensor> states, const Tensor& copy, std::int64_t begin,
                         std::int64_t end) {
  const auto set = [](double factor) HWY_ATTR { return hn::Set(floats, static_cast<float>(factor)); };
  with_rule<V>(step, set, [&](const auto& rule) HWY_ATTR {
    std::array<float*, 1 + std::remove_cvref_t<decltype(rule)>::num_states> tensors{w.data<float>() + begin};
    for (std::size_t k = 1; k < tensors.size(); ++k) tensors[k] = states[k - 1].data<float>() + begin;
    with_gradients(grad.dtype(), [&](auto gradient) HWY_ATTR {
      with_elements(copy.dtype(), [&](auto element) HWY_ATTR {
        using T = decltype(element);
        update_elements(rule, tensors, grad.data<decltype(gradient)>() + begin,
                        copy ? copy.data<T>() + begin : nullptr, end - begin);
      });
    });
  });
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(optimizer_step_part);

void optimizer_step(const Context& context, const OptimizerStep& step, const Tensor& w, const Tensor& grad,
                    std::span<const Tensor> states, const Tensor& copy) {
  if (!states.empty() && states.front().dtype() == DType::bf16)
    return update_rounded_states(context, step, w, grad, states, copy);
  for_elements(context, w.numel(), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(optimizer_step_part)(step, w, grad, states, copy, begin, end);
  });
}

}  // namespace dt::kernels::cpu
#endif
