#include "kernels/optimizer_step.hpp"

#include "kernels/check.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/reference/kernels.hpp"

namespace dt::kernels {

void optimizer_step(const Context& context, const OptimizerStep& step, const Tensor& w, const Tensor& grad,
                    std::span<const Tensor> states, const Tensor& copy) {
  const char* const name = name_of(step.settings.kind).data();
  check_rank(name, "w", w, 1);
  const std::int64_t numel = w.numel();
  const DType dtype = w.dtype();
  DT_CHECK(dtype == DType::f64 || dtype == DType::f32, "{}: there is no kernel for {}", name,
           dtype_name(dtype));
  check_gradient(name, "grad", grad, dtype, {numel});
  const auto num_states = static_cast<std::size_t>(num_optimizer_states(step.settings));
  DT_CHECK(states.size() == num_states, "{}: {} states for {}", name, states.size(), num_states);
  const bool is_rounded = step.settings.kind == OptimizerKind::adamw && dtype == DType::f32 &&
                          num_states > 0 && states.front().dtype() == DType::bf16;
  for (const Tensor& state : states)
    check_tensor(name, "a state", state, is_rounded ? DType::bf16 : dtype, {numel});
  if (copy) {
    DT_CHECK(dtype == DType::f32 && is_narrow_float(copy.dtype()), "{}: a copy in {} beside weights in {}",
             name, dtype_name(copy.dtype()), dtype_name(dtype));
    check_tensor(name, "copy", copy, copy.dtype(), {numel});
  }
  DT_CHECK(step.step >= 1, "{}: steps are counted from 1, not {}", name, step.step);
  static constexpr Implementations<decltype(optimizer_step)> implementations{
      reference::optimizer_step<double>, reference::optimizer_step<float>, cpu::optimizer_step,
      &GpuKernels::optimizer_step};
  select_kernel(implementations, context, name, dtype)(context, step, w, grad, states, copy);
}

int num_optimizer_states(const OptimizerSettings& settings) {
  return reference::num_optimizer_states(settings);
}

}  // namespace dt::kernels
