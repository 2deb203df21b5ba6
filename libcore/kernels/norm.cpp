#include "kernels/norm.hpp"

#include "kernels/check.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/reference/kernels.hpp"

namespace dt::kernels {

void layer_norm(const Context& context, const Tensor& x_RC, const Tensor& weight_C, const Tensor& bias_C,
                double eps, const Tensor& y_RC, const Tensor& mean_R, const Tensor& rstd_R, bool plus_one) {
  constexpr const char* name = "layer_norm";
  check_rank(name, "x_RC", x_RC, 2);
  const std::int64_t R = x_RC.dim(0), C = x_RC.dim(1);
  const DType dtype = x_RC.dtype();
  check_tensor(name, "weight_C", weight_C, dtype, {C});
  check_tensor(name, "y_RC", y_RC, dtype, {R, C});
  check_tensor(name, "mean_R", mean_R, statistics_dtype(dtype), {R});
  check_tensor(name, "rstd_R", rstd_R, statistics_dtype(dtype), {R});
  if (bias_C) check_tensor(name, "bias_C", bias_C, dtype, {C});
  static constexpr Implementations<decltype(layer_norm)> implementations{
      reference::layer_norm<double>, reference::layer_norm<float>, cpu::layer_norm, &GpuKernels::layer_norm};
  select_kernel(implementations, context, name, dtype)(context, x_RC, weight_C, bias_C, eps, y_RC, mean_R,
                                                       rstd_R, plus_one);
}

void layer_norm_backward(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                         const Tensor& weight_C, const Tensor& mean_R, const Tensor& rstd_R,
                         const Tensor& dresidual_RC, const Tensor& dx_RC, const Tensor& dweight_C,
                         const Tensor& dbias_C, bool plus_one) {
  constexpr const char* name = "layer_norm_backward";
  check_rank(name, "dy_RC", dy_RC, 2);
  const std::int64_t R = dy_RC.dim(0), C = dy_RC.dim(1);
  const DType dtype = dy_RC.dtype();
  check_tensor(name, "x_RC", x_RC, dtype, {R, C});
  check_tensor(name, "weight_C", weight_C, dtype, {C});
  check_tensor(name, "mean_R", mean_R, statistics_dtype(dtype), {R});
  check_tensor(name, "rstd_R", rstd_R, statistics_dtype(dtype), {R});
  if (dresidual_RC) check_tensor(name, "dresidual_RC", dresidual_RC, dtype, {R, C});
  check_tensor(name, "dx_RC", dx_RC, dtype, {R, C});
  check_gradient(name, "dweight_C", dweight_C, dtype, {C});
  if (dbias_C) check_tensor(name, "dbias_C", dbias_C, dweight_C.dtype(), {C});
  static constexpr Implementations<decltype(layer_norm_backward)> implementations{
      reference::layer_norm_backward<double>, reference::layer_norm_backward<float>, cpu::layer_norm_backward,
      &GpuKernels::layer_norm_backward};
  select_kernel(implementations, context, name, dtype)(context, dy_RC, x_RC, weight_C, mean_R, rstd_R,
                                                       dresidual_RC, dx_RC, dweight_C, dbias_C, plus_one);
}

void rms_norm(const Context& context, const Tensor& x_RC, const Tensor& weight_C, double eps,
              const Tensor& y_RC, const Tensor& rstd_R, bool plus_one) {
  constexpr const char* name = "rms_norm";
  check_rank(name, "x_RC", x_RC, 2);
  const std::int64_t R = x_RC.dim(0), C = x_RC.dim(1);
  const DType dtype = x_RC.dtype();
  check_tensor(name, "weight_C", weight_C, dtype, {C});
  check_tensor(name, "y_RC", y_RC, dtype, {R, C});
  check_tensor(name, "rstd_R", rstd_R, statistics_dtype(dtype), {R});
  static constexpr Implementations<decltype(rms_norm)> implementations{
      reference::rms_norm<double>, reference::rms_norm<float>, cpu::rms_norm, &GpuKernels::rms_norm};
  select_kernel(implementations, context, name, dtype)(context, x_RC, weight_C, eps, y_RC, rstd_R, plus_one);
}

void rms_norm_backward(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                       const Tensor& weight_C, const Tensor& rstd_R, const Tensor& dresidual_RC,
                       const Tensor& dx_RC, const Tensor& dweight_C, bool plus_one) {
  constexpr const char* name = "rms_norm_backward";
  check_rank(name, "dy_RC", dy_RC, 2);
  const std::int64_t R = dy_RC.dim(0), C = dy_RC.dim(1);
  const DType dtype = dy_RC.dtype();
  check_tensor(name, "x_RC", x_RC, dtype, {R, C});
  check_tensor(name, "weight_C", weight_C, dtype, {C});
  check_tensor(name, "rstd_R", rstd_R, statistics_dtype(dtype), {R});
  if (dresidual_RC) check_tensor(name, "dresidual_RC", dresidual_RC, dtype, {R, C});
  check_tensor(name, "dx_RC", dx_RC, dtype, {R, C});
  check_gradient(name, "dweight_C", dweight_C, dtype, {C});
  static constexpr Implementations<decltype(rms_norm_backward)> implementations{
      reference::rms_norm_backward<double>, reference::rms_norm_backward<float>, cpu::rms_norm_backward,
      &GpuKernels::rms_norm_backward};
  select_kernel(implementations, context, name, dtype)(context, dy_RC, x_RC, weight_C, rstd_R, dresidual_RC,
                                                       dx_RC, dweight_C, plus_one);
}

}  // namespace dt::kernels
