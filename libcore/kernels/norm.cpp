#include "kernels/norm.hpp"

#include "kernels/check.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/reference/norm.hpp"

namespace dt::kernels {

void layer_norm(const Context& context, const Tensor& x_RC, const Tensor& weight_C, const Tensor& bias_C,
                double eps, const Tensor& y_RC, const Tensor& mean_R, const Tensor& rstd_R) {
  check_rank("layer_norm", "x_RC", x_RC, 2);
  const std::int64_t R = x_RC.dim(0), C = x_RC.dim(1);
  const DType dtype = x_RC.dtype();
  check_tensor("layer_norm", "weight_C", weight_C, dtype, {C});
  check_tensor("layer_norm", "y_RC", y_RC, dtype, {R, C});
  check_tensor("layer_norm", "mean_R", mean_R, dtype, {R});
  check_tensor("layer_norm", "rstd_R", rstd_R, dtype, {R});
  if (bias_C) check_tensor("layer_norm", "bias_C", bias_C, dtype, {C});
  static constexpr Implementations<decltype(layer_norm)> implementations{
      reference::layer_norm<double>, reference::layer_norm<float>, cpu::layer_norm};
  pick(implementations, context, "layer_norm", x_RC.dtype())(context, x_RC, weight_C, bias_C, eps, y_RC,
                                                             mean_R, rstd_R);
}

void layer_norm_backward_input(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                               const Tensor& weight_C, const Tensor& mean_R, const Tensor& rstd_R,
                               const Tensor& dx_RC) {
  check_rank("layer_norm_backward_input", "dy_RC", dy_RC, 2);
  const std::int64_t R = dy_RC.dim(0), C = dy_RC.dim(1);
  const DType dtype = dy_RC.dtype();
  check_tensor("layer_norm_backward_input", "x_RC", x_RC, dtype, {R, C});
  check_tensor("layer_norm_backward_input", "weight_C", weight_C, dtype, {C});
  check_tensor("layer_norm_backward_input", "mean_R", mean_R, dtype, {R});
  check_tensor("layer_norm_backward_input", "rstd_R", rstd_R, dtype, {R});
  check_tensor("layer_norm_backward_input", "dx_RC", dx_RC, dtype, {R, C});
  static constexpr Implementations<decltype(layer_norm_backward_input)> implementations{
      reference::layer_norm_backward_input<double>, reference::layer_norm_backward_input<float>,
      cpu::layer_norm_backward_input};
  pick(implementations, context, "layer_norm_backward_input", dy_RC.dtype())(context, dy_RC, x_RC, weight_C,
                                                                             mean_R, rstd_R, dx_RC);
}

void layer_norm_backward_weight(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                                const Tensor& mean_R, const Tensor& rstd_R, const Tensor& dweight_C,
                                const Tensor& dbias_C) {
  check_rank("layer_norm_backward_weight", "dy_RC", dy_RC, 2);
  const std::int64_t R = dy_RC.dim(0), C = dy_RC.dim(1);
  const DType dtype = dy_RC.dtype();
  check_tensor("layer_norm_backward_weight", "x_RC", x_RC, dtype, {R, C});
  check_tensor("layer_norm_backward_weight", "mean_R", mean_R, dtype, {R});
  check_tensor("layer_norm_backward_weight", "rstd_R", rstd_R, dtype, {R});
  check_tensor("layer_norm_backward_weight", "dweight_C", dweight_C, dtype, {C});
  if (dbias_C) check_tensor("layer_norm_backward_weight", "dbias_C", dbias_C, dtype, {C});
  static constexpr Implementations<decltype(layer_norm_backward_weight)> implementations{
      reference::layer_norm_backward_weight<double>, reference::layer_norm_backward_weight<float>,
      cpu::layer_norm_backward_weight};
  pick(implementations, context, "layer_norm_backward_weight", dy_RC.dtype())(context, dy_RC, x_RC, mean_R,
                                                                              rstd_R, dweight_C, dbias_C);
}

void rms_norm(const Context& context, const Tensor& x_RC, const Tensor& weight_C, double eps,
              const Tensor& y_RC, const Tensor& rstd_R) {
  check_rank("rms_norm", "x_RC", x_RC, 2);
  const std::int64_t R = x_RC.dim(0), C = x_RC.dim(1);
  const DType dtype = x_RC.dtype();
  check_tensor("rms_norm", "weight_C", weight_C, dtype, {C});
  check_tensor("rms_norm", "y_RC", y_RC, dtype, {R, C});
  check_tensor("rms_norm", "rstd_R", rstd_R, dtype, {R});
  static constexpr Implementations<decltype(rms_norm)> implementations{
      reference::rms_norm<double>, reference::rms_norm<float>, cpu::rms_norm};
  pick(implementations, context, "rms_norm", x_RC.dtype())(context, x_RC, weight_C, eps, y_RC, rstd_R);
}

void rms_norm_backward_input(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                             const Tensor& weight_C, const Tensor& rstd_R, const Tensor& dx_RC) {
  check_rank("rms_norm_backward_input", "dy_RC", dy_RC, 2);
  const std::int64_t R = dy_RC.dim(0), C = dy_RC.dim(1);
  const DType dtype = dy_RC.dtype();
  check_tensor("rms_norm_backward_input", "x_RC", x_RC, dtype, {R, C});
  check_tensor("rms_norm_backward_input", "weight_C", weight_C, dtype, {C});
  check_tensor("rms_norm_backward_input", "rstd_R", rstd_R, dtype, {R});
  check_tensor("rms_norm_backward_input", "dx_RC", dx_RC, dtype, {R, C});
  static constexpr Implementations<decltype(rms_norm_backward_input)> implementations{
      reference::rms_norm_backward_input<double>, reference::rms_norm_backward_input<float>,
      cpu::rms_norm_backward_input};
  pick(implementations, context, "rms_norm_backward_input", dy_RC.dtype())(context, dy_RC, x_RC, weight_C,
                                                                           rstd_R, dx_RC);
}

void rms_norm_backward_weight(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                              const Tensor& rstd_R, const Tensor& dweight_C) {
  check_rank("rms_norm_backward_weight", "dy_RC", dy_RC, 2);
  const std::int64_t R = dy_RC.dim(0), C = dy_RC.dim(1);
  const DType dtype = dy_RC.dtype();
  check_tensor("rms_norm_backward_weight", "x_RC", x_RC, dtype, {R, C});
  check_tensor("rms_norm_backward_weight", "rstd_R", rstd_R, dtype, {R});
  check_tensor("rms_norm_backward_weight", "dweight_C", dweight_C, dtype, {C});
  static constexpr Implementations<decltype(rms_norm_backward_weight)> implementations{
      reference::rms_norm_backward_weight<double>, reference::rms_norm_backward_weight<float>,
      cpu::rms_norm_backward_weight};
  pick(implementations, context, "rms_norm_backward_weight", dy_RC.dtype())(context, dy_RC, x_RC, rstd_R,
                                                                            dweight_C);
}

}  // namespace dt::kernels
