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

/// Writes the losses of row r, whose sum of exponentials is `all` if it has a target.
void set_losses(const TokenLosses& losses, std::int64_t r, bool is_target, const PartialLoss& all) {
  losses.nll_R.data<double>()[r] = is_target ? all.nll() : 0;
  if (losses.squared_lse_R)
    losses.squared_lse_R.data<double>()[r] = is_target ? all.exponentials.squared_log() : 0;
}

/// `label` is the index of the label among these logits, −1 if it is not among them.
template <class T>
void set_gradient(T* logits, std::int64_t V, std::int64_t label, const SumOfExponentials& whole,
                  const LossGradient& gradient) {
  const double log_sum = std::log(whole.sum), factor = whole.softmax_factor(gradient.z_coefficient);
  for (std::int64_t v = 0; v < V; ++v) {
    const double p = std::exp(logits[v] - whole.shift - log_sum);
    const double tanh = gradient.softcap == 0 ? 0 : logits[v] / gradient.softcap;
    logits[v] = static_cast<T>((factor * p - (v == label ? 1 : 0)) * gradient.scale *
                               std::max(0.0, 1 - tanh * tanh));  // a logit may be rounded beyond the cap
  }
}

}  // namespace

template <class T>
void cross_entropy(const Context&, const Tensor& logits_RV, const Tensor& labels_R,
                   const TokenLosses& losses) {
  const std::int64_t R = logits_RV.dim(0), V = logits_RV.dim(1);
  for (std::int64_t r = 0; r < R; ++r) {
    const T* logits = logits_RV.data<T>() + r * V;
    const std::int32_t label = labels_R.data<std::int32_t>()[r];
    if (label < 0) {
      set_losses(losses, r, false, {});
    } else {
      set_losses(losses, r, true, {sum_of_exponentials(logits, V), logits[label]});
    }
  }
}

template <class T>
void cross_entropy_gradient(const Context& context, const Tensor& labels_R, const LossGradient& gradient,
                            const TokenLosses& losses, const Tensor& logits_RV) {
  cross_entropy<T>(context, logits_RV, labels_R, losses);
  const std::int64_t R = logits_RV.dim(0), V = logits_RV.dim(1);
  for (std::int64_t r = 0; r < R; ++r) {
    T* logits = logits_RV.data<T>() + r * V;
    const std::int32_t label = labels_R.data<std::int32_t>()[r];
    if (label < 0) {
      std::fill_n(logits, V, T{0});
    } else {
      set_gradient(logits, V, label, sum_of_exponentials(logits, V), gradient);
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
                                 const TokenLosses& losses) {
  for (std::int64_t r = 0; r < labels_R.dim(0); ++r) {
    const bool is_target = labels_R.data<std::int32_t>()[r] >= 0;
    set_losses(losses, r, is_target,
               combine_partial_losses(parts_N3R.data<double>(), parts_N3R.dim(0), parts_N3R.dim(2), r));
  }
}

template <class T>
void cross_entropy_gradient_from_partials(const Context& context, const Tensor& parts_N3R,
                                          const Tensor& labels_R, DimShard columns,
                                          const LossGradient& gradient, const TokenLosses& losses,
                                          const Tensor& logits_RV) {
  reference::cross_entropy_from_partials(context, parts_N3R, labels_R, losses);
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
                   gradient);
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
