#include "kernels/activation.hpp"

#include "kernels/check.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/reference/kernels.hpp"

namespace dt::kernels {

namespace {

void check_plain(const char* kernel, Activation f) {
  DT_CHECK(f != Activation::silu, "{}: silu only gates", kernel);
}
void check_gating(const char* kernel, Activation f) {
  DT_CHECK(f == Activation::gelu || f == Activation::silu, "{}: activation {} gates no kernel", kernel,
           static_cast<int>(f));
}

}  // namespace

void activation(const Context& context, Activation f, const Tensor& x_RF, const Tensor& y_RF) {
  check_plain("activation", f);
  check_rank("activation", "x_RF", x_RF, 2);
  check_tensor("activation", "y_RF", y_RF, x_RF.dtype(), {x_RF.dim(0), x_RF.dim(1)});
  static constexpr Implementations<decltype(activation)> implementations{
      reference::activation<double>, reference::activation<float>, cpu::activation, &GpuKernels::activation};
  select_kernel(implementations, context, "activation", x_RF.dtype())(context, f, x_RF, y_RF);
}

void activation_backward(const Context& context, Activation f, const Tensor& dy_RF, const Tensor& x_RF,
                         const Tensor& dx_RF) {
  check_plain("activation_backward", f);
  check_rank("activation_backward", "dy_RF", dy_RF, 2);
  const std::int64_t R = dy_RF.dim(0), F = dy_RF.dim(1);
  const DType dtype = dy_RF.dtype();
  check_tensor("activation_backward", "x_RF", x_RF, dtype, {R, F});
  check_tensor("activation_backward", "dx_RF", dx_RF, dtype, {R, F});
  static constexpr Implementations<decltype(activation_backward)> implementations{
      reference::activation_backward<double>, reference::activation_backward<float>, cpu::activation_backward,
      &GpuKernels::activation_backward};
  select_kernel(implementations, context, "activation_backward", dtype)(context, f, dy_RF, x_RF, dx_RF);
}

void gated_activation(const Context& context, Activation f, const Tensor& gate_up_RG, const Tensor& y_RF) {
  check_gating("gated_activation", f);
  check_rank("gated_activation", "y_RF", y_RF, 2);
  const std::int64_t R = y_RF.dim(0), F = y_RF.dim(1);
  check_tensor("gated_activation", "gate_up_RG", gate_up_RG, y_RF.dtype(), {R, 2 * F});
  static constexpr Implementations<decltype(gated_activation)> implementations{
      reference::gated_activation<double>, reference::gated_activation<float>, cpu::gated_activation,
      &GpuKernels::gated_activation};
  select_kernel(implementations, context, "gated_activation", y_RF.dtype())(context, f, gate_up_RG, y_RF);
}

void gated_activation_backward(const Context& context, Activation f, const Tensor& dy_RF,
                               const Tensor& gate_up_RG, const Tensor& dgate_up_RG) {
  check_gating("gated_activation_backward", f);
  check_rank("gated_activation_backward", "dy_RF", dy_RF, 2);
  const std::int64_t R = dy_RF.dim(0), F = dy_RF.dim(1);
  const DType dtype = dy_RF.dtype();
  check_tensor("gated_activation_backward", "gate_up_RG", gate_up_RG, dtype, {R, 2 * F});
  check_tensor("gated_activation_backward", "dgate_up_RG", dgate_up_RG, dtype, {R, 2 * F});
  static constexpr Implementations<decltype(gated_activation_backward)> implementations{
      reference::gated_activation_backward<double>, reference::gated_activation_backward<float>,
      cpu::gated_activation_backward, &GpuKernels::gated_activation_backward};
  select_kernel(implementations, context, "gated_activation_backward", dtype)(context, f, dy_RF, gate_up_RG,
                                                                              dgate_up_RG);
}

}  // namespace dt::kernels
