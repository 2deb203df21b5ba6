#include "kernels/elementwise.hpp"

#include "base/numeric/exact_sum.hpp"
#include "kernels/check.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/reference/kernels.hpp"

namespace dt::kernels {
namespace {

void check_alike(const char* kernel, const Tensor& a, const Tensor& b) {
  DT_CHECK(a.dtype() == b.dtype() && a.numel() == b.numel(), "{}: the tensors differ: {} {} and {} {}",
           kernel, dtype_name(a.dtype()), a.shape().to_string(), dtype_name(b.dtype()),
           b.shape().to_string());
}

}  // namespace

void add(const Context& context, const Tensor& a, const Tensor& b, const Tensor& y) {
  check_alike("add", a, b);
  check_alike("add", a, y);
  static constexpr Implementations<decltype(add)> implementations{
      reference::add<double>, reference::add<float>, cpu::add, &GpuKernels::add};
  select_kernel(implementations, context, "add", y.dtype())(context, a, b, y);
}

void add_bias_residual(const Context& context, const Tensor& x_RN, const Tensor& bias_N,
                       const Tensor& residual_RN, const Tensor& y_RN) {
  check_rank("add_bias_residual", "x_RN", x_RN, 2);
  const std::int64_t R = x_RN.dim(0), N = x_RN.dim(1);
  const DType dtype = x_RN.dtype();
  if (bias_N) check_tensor("add_bias_residual", "bias_N", bias_N, dtype, {N});
  if (residual_RN) check_tensor("add_bias_residual", "residual_RN", residual_RN, dtype, {R, N});
  check_tensor("add_bias_residual", "y_RN", y_RN, dtype, {R, N});
  static constexpr Implementations<decltype(add_bias_residual)> implementations{
      reference::add_bias_residual<double>, reference::add_bias_residual<float>, cpu::add_bias_residual,
      &GpuKernels::add_bias_residual};
  select_kernel(implementations, context, "add_bias_residual", dtype)(context, x_RN, bias_N, residual_RN,
                                                                      y_RN);
}

void scale_add(const Context& context, double scale, const Tensor& x, const Tensor& residual,
               const Tensor& y) {
  if (residual) check_alike("scale_add", x, residual);
  check_alike("scale_add", x, y);
  static constexpr Implementations<decltype(scale_add)> implementations{
      reference::scale_add<double>, reference::scale_add<float>, cpu::scale_add, &GpuKernels::scale_add};
  select_kernel(implementations, context, "scale_add", y.dtype())(context, scale, x, residual, y);
}

void accumulate(const Context& context, const Tensor& source, const Tensor& target) {
  DT_CHECK(source.dtype() == DType::f64 || source.dtype() == DType::f32,
           "accumulate: there is no kernel for {}", dtype_name(source.dtype()));
  check_gradient("accumulate", "target", target.flat(0, target.numel()), source.dtype(), {source.numel()});
  static constexpr Implementations<decltype(accumulate)> implementations{
      reference::accumulate<double>, reference::accumulate<float>, cpu::accumulate, &GpuKernels::accumulate};
  select_kernel(implementations, context, "accumulate", source.dtype())(context, source, target);
}

void cast(const Context& context, const Tensor& source, const Tensor& target) {
  DT_CHECK(source.numel() == target.numel(), "convert: {} elements into {}", source.numel(), target.numel());
  if (context.device() != Device::host()) return gpu_kernels(context).cast(context, source, target);
  const bool has_f64 = source.dtype() == DType::f64 || target.dtype() == DType::f64;
  (has_f64 || context.reference_only() ? reference::cast : cpu::cast)(context, source, target);
}

void cast_columns(const Context& context, const ColumnBlock& source, const ColumnBlock& target,
                  std::int64_t width) {
  for (const ColumnBlock& block : {source, target}) {
    check_rank("convert_columns", "rows_RS", block.rows_RS, 2);
    DT_CHECK(block.first >= 0 && block.first + width <= block.rows_RS.dim(1) &&
                 block.rows_RS.dim(0) == source.rows_RS.dim(0),
             "convert_columns: {} columns from {} of {}", width, block.first,
             block.rows_RS.shape().to_string());
  }
  if (context.device() != Device::host())
    return gpu_kernels(context).cast_columns(context, source, target, width);
  const bool has_f64 = source.rows_RS.dtype() == DType::f64 || target.rows_RS.dtype() == DType::f64;
  (has_f64 || context.reference_only() ? reference::cast_columns : cpu::cast_columns)(context, source, target,
                                                                                      width);
}

// Moving bytes needs no reference.
void copy(const Context& context, const Tensor& source, const Tensor& target) {
  check_alike("copy", source, target);
  if (source.device() == Device::host() && target.device() == Device::host())
    return cpu::copy(context, source, target);
  context.throttle();
  accelerator().copy(context.stream(), target.raw(), source.raw(), source.bytes());
}

void zero(const Context& context, const Tensor& target) {
  if (target.device() == Device::host()) return cpu::zero(context, target);
  context.throttle();
  accelerator().zero(context.stream(), target.raw(), target.bytes());
}

void fill(const Context& context, double value, const Tensor& target) {
  (target.device() == Device::host() ? reference::fill : gpu_kernels(context).fill)(context, value, target);
}

void sum_squares_by_block(const Context& context, const Tensor& x, const Tensor& partials_N) {
  check_tensor("sum_squares_by_block", "partials_N", partials_N, DType::f64, {num_sum_blocks(x.numel())});
  static constexpr Implementations<decltype(sum_squares_by_block)> implementations{
      reference::sum_squares_by_block<double>, reference::sum_squares_by_block<float>,
      cpu::sum_squares_by_block, &GpuKernels::sum_squares_by_block};
  select_kernel(implementations, context, "sum_squares_by_block", x.dtype())(context, x, partials_N);
}

void accumulate_exact(const Context& context, const Tensor& terms_N, const Tensor& digits_D) {
  constexpr std::size_t num_digits = ExactSum::num_digits + 1;
  check_tensor("add_exactly", "terms_N", terms_N, DType::f64, {terms_N.dim(0)});
  check_tensor("add_exactly", "digits_D", digits_D, DType::i64, {num_digits});
  if (context.device() != Device::host())
    return gpu_kernels(context).accumulate_exact(context, terms_N, digits_D);
  ExactSum::add_to_digits(terms_N.span<double>(),
                          std::span<std::int64_t, num_digits>(digits_D.span<std::int64_t>()));
}

}  // namespace dt::kernels
