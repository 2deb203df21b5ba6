#include "kernels/activation.hpp"

#include "kernels/check.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/reference/kernels.hpp"

namespace dt::kernels {

void gelu(const Context& context, const Tensor& x_RF, const Tensor& y_RF) {
  check_rank("gelu", "x_RF", x_RF, 2);
  const std::int64_t R = x_RF.dim(0), F = x_RF.dim(1);
  const DType dtype = x_RF.dtype();
  check_tensor("gelu", "y_RF", y_RF, dtype, {R, F});
  static constexpr Implementations<decltype(gelu)> implementations{
      reference::gelu<double>, reference::gelu<float>, cpu::gelu, &GpuKernels::gelu};
  select_kernel(implementations, context, "gelu", x_RF.dtype())(context, x_RF, y_RF);
}

void gelu_backward(const Context& context, const Tensor& dy_RF, const Tensor& x_RF, const Tensor& dx_RF) {
  check_rank("gelu_backward", "dy_RF", dy_RF, 2);
  const std::int64_t R = dy_RF.dim(0), F = dy_RF.dim(1);
  const DType dtype = dy_RF.dtype();
  check_tensor("gelu_backward", "x_RF", x_RF, dtype, {R, F});
  check_tensor("gelu_backward", "dx_RF", dx_RF, dtype, {R, F});
  static constexpr Implementations<decltype(gelu_backward)> implementations{
      reference::gelu_backward<double>, reference::gelu_backward<float>, cpu::gelu_backward,
      &GpuKernels::gelu_backward};
  select_kernel(implementations, context, "gelu_backward", dy_RF.dtype())(context, dy_RF, x_RF, dx_RF);
}

void swiglu(const Context& context, const Tensor& gate_up_RG, const Tensor& y_RF) {
  check_rank("swiglu", "y_RF", y_RF, 2);
  const std::int64_t R = y_RF.dim(0), F = y_RF.dim(1);
  const DType dtype = y_RF.dtype();
  check_tensor("swiglu", "gate_up_RG", gate_up_RG, dtype, {R, 2 * F});
  static constexpr Implementations<decltype(swiglu)> implementations{
      reference::swiglu<double>, reference::swiglu<float>, cpu::swiglu, &GpuKernels::swiglu};
  select_kernel(implementations, context, "swiglu", y_RF.dtype())(context, gate_up_RG, y_RF);
}

void swiglu_backward(const Context& context, const Tensor& dy_RF, const Tensor& gate_up_RG,
                     const Tensor& dgate_up_RG) {
  check_rank("swiglu_backward", "dy_RF", dy_RF, 2);
  const std::int64_t R = dy_RF.dim(0), F = dy_RF.dim(1);
  const DType dtype = dy_RF.dtype();
  check_tensor("swiglu_backward", "gate_up_RG", gate_up_RG, dtype, {R, 2 * F});
  check_tensor("swiglu_backward", "dgate_up_RG", dgate_up_RG, dtype, {R, 2 * F});
  static constexpr Implementations<decltype(swiglu_backward)> implementations{
      reference::swiglu_backward<double>, reference::swiglu_backward<float>, cpu::swiglu_backward,
      &GpuKernels::swiglu_backward};
  select_kernel(implementations, context, "swiglu_backward", dy_RF.dtype())(context, dy_RF, gate_up_RG,
                                                                            dgate_up_RG);
}

}  // namespace dt::kernels
