#include "kernels/linear.hpp"

#include "base/numeric/integer.hpp"
#include "kernels/check.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/reference/kernels.hpp"

namespace dt::kernels {

std::int64_t row_pitch(Device device, std::int64_t N) {
  constexpr std::int64_t line = 64;
  return device == Device::host() ? N : round_up(N, line);
}

std::int64_t padded_features(Device device, DType dtype, std::int64_t N) {
  return round_down_to_vec(dtype, N) == N ? N : row_pitch(device, N);
}

void linear(const Context& context, const Tensor& x_RK, const Tensor& w_NK, const Tensor& bias_N,
            const Tensor& residual_RN, const Tensor& y_RN) {
  check_rank("linear", "x_RK", x_RK, 2);
  check_rank("linear", "w_NK", w_NK, 2);
  const std::int64_t R = x_RK.dim(0), K = x_RK.dim(1), N = w_NK.dim(0);
  const DType dtype = x_RK.dtype();
  check_tensor("linear", "w_NK", w_NK, dtype, {N, K});
  check_matrix("linear", "y_RN", y_RN, dtype, {R, N});
  DT_CHECK(!y_RN.has_padded_rows() || (!bias_N && !residual_RN),
           "linear: added to y_RN, whose rows are padded");
  if (bias_N) check_tensor("linear", "bias_N", bias_N, dtype, {N});
  if (residual_RN) check_tensor("linear", "residual_RN", residual_RN, dtype, {R, N});
  static constexpr Implementations<decltype(linear)> implementations{
      reference::linear<double>, reference::linear<float>, cpu::linear, &GpuKernels::linear};
  select_kernel(implementations, context, "linear", x_RK.dtype())(context, x_RK, w_NK, bias_N, residual_RN,
                                                                  y_RN);
}

void linear_backward_input(const Context& context, const Tensor& dy_RN, const Tensor& w_NK,
                           const Tensor& dx_RK) {
  check_matrix("linear_backward_input", "dy_RN", dy_RN);
  check_rank("linear_backward_input", "w_NK", w_NK, 2);
  const std::int64_t R = dy_RN.dim(0), N = dy_RN.dim(1), K = w_NK.dim(1);
  const DType dtype = dy_RN.dtype();
  check_tensor("linear_backward_input", "w_NK", w_NK, dtype, {N, K});
  check_tensor("linear_backward_input", "dx_RK", dx_RK, dtype, {R, K});
  static constexpr Implementations<decltype(linear_backward_input)> implementations{
      reference::linear_backward_input<double>, reference::linear_backward_input<float>,
      cpu::linear_backward_input, &GpuKernels::linear_backward_input};
  select_kernel(implementations, context, "linear_backward_input", dy_RN.dtype())(context, dy_RN, w_NK,
                                                                                  dx_RK);
}

void linear_backward_weight(const Context& context, const Tensor& dy_RN, const Tensor& x_RK,
                            const Tensor& dw_NK, const Tensor& dbias_N) {
  check_matrix("linear_backward_weight", "dy_RN", dy_RN);
  check_rank("linear_backward_weight", "x_RK", x_RK, 2);
  const std::int64_t R = dy_RN.dim(0), N = dy_RN.dim(1), K = x_RK.dim(1);
  const DType dtype = dy_RN.dtype();
  check_tensor("linear_backward_weight", "x_RK", x_RK, dtype, {R, K});
  check_gradient("linear_backward_weight", "dw_NK", dw_NK, dtype, {N, K});
  if (dbias_N) check_gradient("linear_backward_weight", "dbias_N", dbias_N, dtype, {N});
  static constexpr Implementations<decltype(linear_backward_weight)> implementations{
      reference::linear_backward_weight<double>, reference::linear_backward_weight<float>,
      cpu::linear_backward_weight, &GpuKernels::linear_backward_weight};
  select_kernel(implementations, context, "linear_backward_weight", dy_RN.dtype())(context, dy_RN, x_RK,
                                                                                   dw_NK, dbias_N);
}

void bias_backward(const Context& context, const Tensor& dy_RN, const Tensor& dbias_N) {
  check_matrix("bias_backward", "dy_RN", dy_RN);
  check_gradient("bias_backward", "dbias_N", dbias_N, dy_RN.dtype(), {dy_RN.dim(1)});
  static constexpr Implementations<decltype(bias_backward)> implementations{
      reference::bias_backward<double>, reference::bias_backward<float>, cpu::bias_backward,
      &GpuKernels::bias_backward};
  select_kernel(implementations, context, "bias_backward", dy_RN.dtype())(context, dy_RN, dbias_N);
}

}  // namespace dt::kernels
