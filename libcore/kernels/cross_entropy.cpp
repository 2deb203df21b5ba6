#include "kernels/cross_entropy.hpp"

#include <limits>

#include "kernels/check.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/reference/kernels.hpp"

namespace dt::kernels {
namespace {

constexpr std::int64_t lowest_label = std::numeric_limits<std::int32_t>::min();  // negative: no target

/// Returns the logits' dtype.
DType check_logits(const char* kernel, const Tensor& logits_RV, const Tensor& labels_R, DimShard columns) {
  check_matrix(kernel, "logits_RV", logits_RV);
  check_tensor(kernel, "labels_R", labels_R, DType::i32, {logits_RV.dim(0)});
  check_ids(kernel, labels_R, lowest_label, check_shard(kernel, columns, logits_RV.dim(1)));
  return logits_RV.dtype();
}

void check_losses(const char* kernel, const Tensor& labels_R, const TokenLosses& losses) {
  check_rank(kernel, "labels_R", labels_R, 1);
  const std::int64_t R = labels_R.dim(0);
  check_tensor(kernel, "nll_R", losses.nll_R, DType::f64, {R});
  if (losses.squared_lse_R) check_tensor(kernel, "squared_lse_R", losses.squared_lse_R, DType::f64, {R});
}

void check_parts(const char* kernel, const Tensor& parts_N3R, const Tensor& labels_R,
                 const TokenLosses& losses) {
  check_losses(kernel, labels_R, losses);
  check_rank(kernel, "parts_N3R", parts_N3R, 3);
  check_tensor(kernel, "parts_N3R", parts_N3R, DType::f64, {parts_N3R.dim(0), 3, labels_R.dim(0)});
}

}  // namespace

void cross_entropy(const Context& context, const Tensor& logits_RV, const Tensor& labels_R,
                   const TokenLosses& losses) {
  const DType dtype = check_logits("cross_entropy", logits_RV, labels_R, {});
  check_losses("cross_entropy", labels_R, losses);
  static constexpr Implementations<decltype(cross_entropy)> implementations{
      reference::cross_entropy<double>, reference::cross_entropy<float>, cpu::cross_entropy,
      &GpuKernels::cross_entropy};
  select_kernel(implementations, context, "cross_entropy", dtype)(context, logits_RV, labels_R, losses);
}

void cross_entropy_gradient(const Context& context, const Tensor& labels_R, const LossGradient& gradient,
                            const TokenLosses& losses, const Tensor& logits_RV) {
  const DType dtype = check_logits("cross_entropy_gradient", logits_RV, labels_R, {});
  check_losses("cross_entropy_gradient", labels_R, losses);
  static constexpr Implementations<decltype(cross_entropy_gradient)> implementations{
      reference::cross_entropy_gradient<double>, reference::cross_entropy_gradient<float>,
      cpu::cross_entropy_gradient, &GpuKernels::cross_entropy_gradient};
  select_kernel(implementations, context, "cross_entropy_gradient", dtype)(context, labels_R, gradient,
                                                                           losses, logits_RV);
}

void cross_entropy_partial(const Context& context, const Tensor& logits_RV, const Tensor& labels_R,
                           DimShard columns, const Tensor& part_3R) {
  const DType dtype = check_logits("cross_entropy_part", logits_RV, labels_R, columns);
  check_tensor("cross_entropy_part", "part_3R", part_3R, DType::f64, {3, logits_RV.dim(0)});
  static constexpr Implementations<decltype(cross_entropy_partial)> implementations{
      reference::cross_entropy_partial<double>, reference::cross_entropy_partial<float>,
      cpu::cross_entropy_partial, &GpuKernels::cross_entropy_partial};
  select_kernel(implementations, context, "cross_entropy_part", dtype)(context, logits_RV, labels_R, columns,
                                                                       part_3R);
}

// Parts are a few numbers a row, for which the host uses the reference.
void cross_entropy_from_partials(const Context& context, const Tensor& parts_N3R, const Tensor& labels_R,
                                 const TokenLosses& losses) {
  check_parts("cross_entropy_of_parts", parts_N3R, labels_R, losses);
  const bool is_host = context.device() == Device::host();
  (is_host ? reference::cross_entropy_from_partials : gpu_kernels(context).cross_entropy_from_partials)(
      context, parts_N3R, labels_R, losses);
}

void cross_entropy_gradient_from_partials(const Context& context, const Tensor& parts_N3R,
                                          const Tensor& labels_R, DimShard columns,
                                          const LossGradient& gradient, const TokenLosses& losses,
                                          const Tensor& logits_RV) {
  const char* const kernel = "cross_entropy_gradient_of_parts";
  const DType dtype = check_logits(kernel, logits_RV, labels_R, columns);
  check_parts(kernel, parts_N3R, labels_R, losses);
  static constexpr Implementations<decltype(cross_entropy_gradient_from_partials)> implementations{
      reference::cross_entropy_gradient_from_partials<double>,
      reference::cross_entropy_gradient_from_partials<float>, cpu::cross_entropy_gradient_from_partials,
      &GpuKernels::cross_entropy_gradient_from_partials};
  select_kernel(implementations, context, kernel, dtype)(context, parts_N3R, labels_R, columns, gradient,
                                                         losses, logits_RV);
}

}  // namespace dt::kernels
