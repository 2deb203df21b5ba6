#include "kernels/adamw.hpp"

#include "kernels/check.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/reference/kernels.hpp"

namespace dt::kernels {

void adamw(const Context& context, const AdamWStep& step, const Tensor& w, const Tensor& grad,
           const Tensor& m, const Tensor& v, const Tensor& copy) {
  check_rank("adamw", "w", w, 1);
  const std::int64_t numel = w.numel();
  const DType dtype = w.dtype();
  DT_CHECK(dtype == DType::f64 || dtype == DType::f32, "adamw: there is no kernel for {}", dtype_name(dtype));
  check_gradient("adamw", "grad", grad, dtype, {numel});
  check_tensor("adamw", "m", m, dtype, {numel});
  check_tensor("adamw", "v", v, dtype, {numel});
  if (copy) {
    const bool is_short = dtype == DType::f32 && (copy.dtype() == DType::bf16 || copy.dtype() == DType::f16);
    DT_CHECK(is_short, "adamw: a copy in {} beside weights in {}", dtype_name(copy.dtype()),
             dtype_name(dtype));
    check_tensor("adamw", "copy", copy, copy.dtype(), {numel});
  }
  DT_CHECK(step.step >= 1, "adamw: steps are counted from 1, not {}", step.step);
  static constexpr Implementations<decltype(adamw)> implementations{
      reference::adamw<double>, reference::adamw<float>, cpu::adamw, &GpuKernels::adamw};
  select_kernel(implementations, context, "adamw", dtype)(context, step, w, grad, m, v, copy);
}

}  // namespace dt::kernels
