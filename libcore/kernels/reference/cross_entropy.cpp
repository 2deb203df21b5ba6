#include "kernels/cross_entropy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/reference/kernels.hpp"

namespace dt::kernels::reference {

namespace {

template <class T>
SumOfExponentials sum_of_exponentials(const T* logits, std::int64_t V) {
  double highest = std::numeric_limits<T>::lowest();  // finite, so that logits that are all −∞ add 0
  for (std::int64_t v = 0; v < V; ++v) highest = std::max(highest, double{logits[v]});
  double sum = 0;
  for (std::int64_t v = 0; v < V; ++v) sum += std::exp(logits[v] - highest);
  return {highest, sum};
}

/// `label` is the index of the label among these logits, −1 if it is not among them.
template <class T>
void set_gradient(T* logits, std::int64_t V, std::int64_t label, const SumOfExponentials& whole,
                  double scale) {
  const double log_sum = std::log(whole.sum);
  for (std::int64_t v = 0; v < V; ++v) {
    const double p = std::exp(logits[v] - whole.shift - log_sum);
    logits[v] = static_cast<T>((p - (v == label ? 1 : 0)) * scale);
  }
}

}  // namespace

template <class T>
void cross_entropy(const Context&, const Tensor& logits_RV, const Tensor& labels_R, const Tensor& nll_R) {
  const std::int64_t R = logits_RV.dim(0), V = logits_RV.dim(1);
  for (std::int64_t r = 0; r < R; ++r) {
    const T* logits = logits_RV.data<T>() + r * V;
    const std::int32_t label = labels_R.data<std::int32_t>()[r];
    nll_R.data<double>()[r] = label < 0 ? 0 : sum_of_exponentials(logits, V).nll(logits[label]);
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
    if (label < 0) {
      std::fill_n(logits, V, T{0});
    } else {
      set_gradient(logits, V, label, sum_of_exponentials(logits, V), scale);
    }
  }
}

template <class T>
void cross_entropy_partial(const Context&, const Tensor& logits_RV, const Tensor& labels_R, DimShard columns,
                           const Tensor& part_3R) {
  const std::int64_t R = logits_RV.dim(0), V = logits_RV.dim(1);
  for (std::int64_t r = 0; r < R; ++r) {
    const T* logits = logits_RV.data<T>() + r * V;
    const std::int32_t label = labels_R.data<std::int32_t>()[r];
    const std::int64_t place = columns.local_index(label, V);
    PartialLoss part{};
    if (label >= 0) part = {sum_of_exponentials(logits, V), place < 0 ? 0 : double{logits[place]}};
    store_partial_loss(part_3R.data<double>(), R, r, part);
  }
}

void cross_entropy_from_partials(const Context&, const Tensor& parts_N3R, const Tensor& labels_R,
                                 const Tensor& nll_R) {
  for (std::int64_t r = 0; r < labels_R.dim(0); ++r) {
    const bool is_target = labels_R.data<std::int32_t>()[r] >= 0;
    nll_R.data<double>()[r] =
        is_target
            ? combine_partial_losses(parts_N3R.data<double>(), parts_N3R.dim(0), parts_N3R.dim(2), r).nll()
            : 0;
  }
}

template <class T>
void cross_entropy_gradient_from_partials(const Context& context, const Tensor& parts_N3R,
                                          const Tensor& labels_R, DimShard columns, double scale,
                                          const Tensor& nll_R, const Tensor& logits_RV) {
  cross_entropy_from_partials(context, parts_N3R, labels_R, nll_R);
  const std::int64_t R = logits_RV.dim(0), V = logits_RV.dim(1);
  for (std::int64_t r = 0; r < R; ++r) {
    T* logits = logits_RV.data<T>() + r * V;
    const std::int32_t label = labels_R.data<std::int32_t>()[r];
    if (label < 0) {
      std::fill_n(logits, V, T{0});
    } else {
      set_gradient(logits, V, columns.local_index(label, V),
                   combine_partial_losses(parts_N3R.data<double>(), parts_N3R.dim(0), parts_N3R.dim(2), r)
                       .exponentials,
                   scale);
    }
  }
}

template decltype(kernels::cross_entropy) cross_entropy<float>;
template decltype(kernels::cross_entropy) cross_entropy<double>;
template decltype(kernels::cross_entropy_gradient) cross_entropy_gradient<float>;
template decltype(kernels::cross_entropy_gradient) cross_entropy_gradient<double>;
template decltype(kernels::cross_entropy_partial) cross_entropy_partial<float>;
template decltype(kernels::cross_entropy_partial) cross_entropy_partial<double>;
template decltype(kernels::cross_entropy_gradient_from_partials) cross_entropy_gradient_from_partials<float>;
template decltype(kernels::cross_entropy_gradient_from_partials) cross_entropy_gradient_from_partials<double>;

}  // namespace dt::kernels::reference
