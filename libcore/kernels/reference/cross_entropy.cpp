#include "kernels/reference/cross_entropy.hpp"

#include <algorithm>
#include <cmath>

namespace dt::kernels::reference {

namespace {

/// log Σ exp(x) = highest + log_sum; kept apart, since their sum would lose log_sum beside a huge highest.
struct LogSumExp {
  double highest, log_sum;
};

template <class T>
LogSumExp log_sum_exp(const T* logits, std::int64_t V) {
  const double highest = *std::max_element(logits, logits + V);
  double sum = 0;
  for (std::int64_t v = 0; v < V; ++v) sum += std::exp(logits[v] - highest);
  return {highest, std::log(sum)};
}

}  // namespace

template <class T>
void cross_entropy(const Context&, const Tensor& logits_RV, const Tensor& labels_R, const Tensor& nll_R) {
  const std::int64_t R = logits_RV.dim(0), V = logits_RV.dim(1);
  for (std::int64_t r = 0; r < R; ++r) {
    const T* logits = logits_RV.data<T>() + r * V;
    const std::int32_t label = labels_R.data<std::int32_t>()[r];
    const LogSumExp lse = log_sum_exp(logits, V);
    nll_R.data<double>()[r] = label < 0 ? 0 : lse.highest - logits[label] + lse.log_sum;
  }
}

template <class T>
void cross_entropy_gradient(const Context& context, const Tensor& labels_R, double scale, const Tensor& nll_R,
                            const Tensor& logits_RV) {
  cross_entropy<T>(context, logits_RV, labels_R, nll_R);
  const std::int64_t R = logits_RV.dim(0), V = logits_RV.dim(1);
  for (std::int64_t r = 0; r < R; ++r) {
    T* logits = logits_RV.data<T>() + r * V;
    const std::int32_t label = labels_R.data<std::int32_t>()[r];
    const LogSumExp lse = log_sum_exp(logits, V);
    for (std::int64_t v = 0; v < V; ++v) {
      const double p = std::exp(logits[v] - lse.highest - lse.log_sum);
      logits[v] = label < 0 ? T{0} : static_cast<T>((p - (v == label ? 1 : 0)) * scale);
    }
  }
}

template decltype(kernels::cross_entropy) cross_entropy<float>;
template decltype(kernels::cross_entropy) cross_entropy<double>;
template decltype(kernels::cross_entropy_gradient) cross_entropy_gradient<float>;
template decltype(kernels::cross_entropy_gradient) cross_entropy_gradient<double>;

}  // namespace dt::kernels::reference
