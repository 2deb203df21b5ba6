#include "kernels/reference/cross_entropy.hpp"

#include <algorithm>
#include <cmath>

namespace dt::kernels::reference {

template <class T>
void cross_entropy(const Context&, const Tensor& logits_RV, const Tensor& labels_R, const Tensor& nll_R,
                   const Tensor& lse_R) {
  const std::int64_t R = logits_RV.dim(0), V = logits_RV.dim(1);
  for (std::int64_t r = 0; r < R; ++r) {
    const T* logits = logits_RV.data<T>() + r * V;
    const double highest = *std::max_element(logits, logits + V);
    double sum = 0;
    for (std::int64_t v = 0; v < V; ++v) sum += std::exp(logits[v] - highest);
    const std::int32_t label = labels_R.data<std::int32_t>()[r];
    nll_R.data<double>()[r] = label < 0 ? 0 : highest - logits[label] + std::log(sum);
    lse_R.data<T>()[r] = static_cast<T>(highest + std::log(sum));
  }
}

template <class T>
void cross_entropy_backward(const Context&, const Tensor& labels_R, const Tensor& lse_R, double scale,
                            const Tensor& logits_RV) {
  const std::int64_t R = logits_RV.dim(0), V = logits_RV.dim(1);
  for (std::int64_t r = 0; r < R; ++r) {
    T* logits = logits_RV.data<T>() + r * V;
    const double lse = lse_R.data<T>()[r];
    const std::int32_t label = labels_R.data<std::int32_t>()[r];
    for (std::int64_t v = 0; v < V; ++v) {
      const double p = std::exp(logits[v] - lse);
      logits[v] = label < 0 ? T{0} : static_cast<T>((p - (v == label ? 1 : 0)) * scale);
    }
  }
}

template decltype(kernels::cross_entropy) cross_entropy<float>;
template decltype(kernels::cross_entropy) cross_entropy<double>;
template decltype(kernels::cross_entropy_backward) cross_entropy_backward<float>;
template decltype(kernels::cross_entropy_backward) cross_entropy_backward<double>;

}  // namespace dt::kernels::reference
