#include "kernels/cross_entropy.hpp"

#include <limits>

#include "kernels/check.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/reference/cross_entropy.hpp"

namespace dt::kernels {
namespace {

constexpr std::int64_t lowest_label = std::numeric_limits<std::int32_t>::min();  // negative: no target

/// Returns the logits' dtype.
DType check_loss(const char* kernel, const Tensor& logits_RV, const Tensor& labels_R, const Tensor& nll_R) {
  check_rank(kernel, "logits_RV", logits_RV, 2);
  const std::int64_t R = logits_RV.dim(0), V = logits_RV.dim(1);
  check_tensor(kernel, "labels_R", labels_R, DType::i32, {R});
  check_tensor(kernel, "nll_R", nll_R, DType::f64, {R});
  check_ids(kernel, labels_R, lowest_label, V);
  return logits_RV.dtype();
}

}  // namespace

void cross_entropy(const Context& context, const Tensor& logits_RV, const Tensor& labels_R,
                   const Tensor& nll_R) {
  const DType dtype = check_loss("cross_entropy", logits_RV, labels_R, nll_R);
  static constexpr Implementations<decltype(cross_entropy)> implementations{
      reference::cross_entropy<double>, reference::cross_entropy<float>, cpu::cross_entropy};
  pick(implementations, context, "cross_entropy", dtype)(context, logits_RV, labels_R, nll_R);
}

void cross_entropy_gradient(const Context& context, const Tensor& labels_R, double scale, const Tensor& nll_R,
                            const Tensor& logits_RV) {
  const DType dtype = check_loss("cross_entropy_gradient", logits_RV, labels_R, nll_R);
  static constexpr Implementations<decltype(cross_entropy_gradient)> implementations{
      reference::cross_entropy_gradient<double>, reference::cross_entropy_gradient<float>,
      cpu::cross_entropy_gradient};
  pick(implementations, context, "cross_entropy_gradient", dtype)(context, labels_R, scale, nll_R, logits_RV);
}

}  // namespace dt::kernels
