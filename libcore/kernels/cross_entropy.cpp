#include "kernels/cross_entropy.hpp"

#include <limits>

#include "kernels/check.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/reference/cross_entropy.hpp"

namespace dt::kernels {
namespace {

constexpr std::int64_t lowest_label = std::numeric_limits<std::int32_t>::min();  // negative: no target

}  // namespace

void cross_entropy(const Context& context, const Tensor& logits_RV, const Tensor& labels_R,
                   const Tensor& nll_R, const Tensor& lse_R) {
  check_rank("cross_entropy", "logits_RV", logits_RV, 2);
  const std::int64_t R = logits_RV.dim(0), V = logits_RV.dim(1);
  check_tensor("cross_entropy", "labels_R", labels_R, DType::i32, {R});
  check_tensor("cross_entropy", "nll_R", nll_R, DType::f64, {R});
  check_tensor("cross_entropy", "lse_R", lse_R, logits_RV.dtype(), {R});
  check_ids("cross_entropy", labels_R, lowest_label, V);
  static constexpr Implementations<decltype(cross_entropy)> implementations{
      reference::cross_entropy<double>, reference::cross_entropy<float>, cpu::cross_entropy};
  pick(implementations, context, "cross_entropy", logits_RV.dtype())(context, logits_RV, labels_R, nll_R,
                                                                     lse_R);
}

void cross_entropy_backward(const Context& context, const Tensor& labels_R, const Tensor& lse_R, double scale,
                            const Tensor& logits_RV) {
  check_rank("cross_entropy_backward", "logits_RV", logits_RV, 2);
  const std::int64_t R = logits_RV.dim(0), V = logits_RV.dim(1);
  check_tensor("cross_entropy_backward", "labels_R", labels_R, DType::i32, {R});
  check_tensor("cross_entropy_backward", "lse_R", lse_R, logits_RV.dtype(), {R});
  check_ids("cross_entropy_backward", labels_R, lowest_label, V);
  static constexpr Implementations<decltype(cross_entropy_backward)> implementations{
      reference::cross_entropy_backward<double>, reference::cross_entropy_backward<float>,
      cpu::cross_entropy_backward};
  pick(implementations, context, "cross_entropy_backward", logits_RV.dtype())(context, labels_R, lse_R, scale,
                                                                              logits_RV);
}

}  // namespace dt::kernels
