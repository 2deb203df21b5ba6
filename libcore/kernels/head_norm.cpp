#include "kernels/head_norm.hpp"

#include "kernels/check.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/reference/kernels.hpp"

namespace dt::kernels {
namespace {

/// Checks the groups of a call, and what it has for each of them; the latter may be absent.
void check_groups(const char* kernel, const HeadNorm& norm, const Columns& columns, const Tensor& values_RG) {
  check_rank(kernel, "rows", columns.rows_RS, 2);
  const std::int64_t R = columns.rows_RS.dim(0), S = columns.rows_RS.dim(1), N = norm.groups * norm.width;
  const DType dtype = columns.rows_RS.dtype();
  check_tensor(kernel, "rows", columns.rows_RS, dtype, {R, S});
  DT_CHECK(norm.groups > 0 && norm.width > 0 && norm.mean_width >= norm.width && columns.first >= 0 &&
               columns.first + N <= S,
           "{}: {} groups of {} features, of {}, from column {} on of {}", kernel, norm.groups, norm.width,
           norm.mean_width, columns.first, S);
  if (values_RG) check_tensor(kernel, "values_RG", values_RG, statistics_dtype(dtype), {R, norm.groups});
}

void check_operands(const char* kernel, const HeadNorm& norm, const Columns& columns, const Tensor& weight_W,
                    const Tensor& x_RN) {
  const DType dtype = columns.rows_RS.dtype();
  check_tensor(kernel, "weight_W", weight_W, dtype, {norm.width});
  check_tensor(kernel, "x_RN", x_RN, dtype, {columns.rows_RS.dim(0), norm.groups * norm.width});
}

}  // namespace

void head_norm_squares(const Context& context, const HeadNorm& norm, const Columns& x,
                       const Tensor& squares_RG) {
  constexpr const char* name = "head_norm_squares";
  check_groups(name, norm, x, squares_RG);
  static constexpr Implementations<decltype(head_norm_squares)> implementations{
      reference::head_norm_squares<double>, reference::head_norm_squares<float>, cpu::head_norm_squares,
      &GpuKernels::head_norm_squares};
  select_kernel(implementations, context, name, x.rows_RS.dtype())(context, norm, x, squares_RG);
}

void head_norm(const Context& context, const HeadNorm& norm, const Tensor& weight_W, const Tensor& squares_RG,
               const Columns& x, const Tensor& x_RN, const Tensor& rstd_RG) {
  constexpr const char* name = "head_norm";
  check_groups(name, norm, x, squares_RG);
  check_groups(name, norm, x, rstd_RG);
  check_operands(name, norm, x, weight_W, x_RN);
  static constexpr Implementations<decltype(head_norm)> implementations{
      reference::head_norm<double>, reference::head_norm<float>, cpu::head_norm, &GpuKernels::head_norm};
  select_kernel(implementations, context, name, x.rows_RS.dtype())(context, norm, weight_W, squares_RG, x,
                                                                   x_RN, rstd_RG);
}

void head_norm_products(const Context& context, const HeadNorm& norm, const Tensor& weight_W,
                        const Columns& dy, const Tensor& x_RN, const Tensor& products_RG) {
  constexpr const char* name = "head_norm_products";
  check_groups(name, norm, dy, products_RG);
  check_operands(name, norm, dy, weight_W, x_RN);
  static constexpr Implementations<decltype(head_norm_products)> implementations{
      reference::head_norm_products<double>, reference::head_norm_products<float>, cpu::head_norm_products,
      &GpuKernels::head_norm_products};
  select_kernel(implementations, context, name, dy.rows_RS.dtype())(context, norm, weight_W, dy, x_RN,
                                                                    products_RG);
}

void head_norm_backward(const Context& context, const HeadNorm& norm, const Tensor& weight_W,
                        const Tensor& products_RG, const Columns& dy, const Tensor& x_RN,
                        const Tensor& rstd_RG, const Tensor& dweight_W) {
  constexpr const char* name = "head_norm_backward";
  check_groups(name, norm, dy, products_RG);
  check_groups(name, norm, dy, rstd_RG);
  check_operands(name, norm, dy, weight_W, x_RN);
  check_gradient(name, "dweight_W", dweight_W, dy.rows_RS.dtype(), {norm.width});
  static constexpr Implementations<decltype(head_norm_backward)> implementations{
      reference::head_norm_backward<double>, reference::head_norm_backward<float>, cpu::head_norm_backward,
      &GpuKernels::head_norm_backward};
  select_kernel(implementations, context, name, dy.rows_RS.dtype())(context, norm, weight_W, products_RG, dy,
                                                                    x_RN, rstd_RG, dweight_W);
}

}  // namespace dt::kernels
