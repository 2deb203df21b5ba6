#pragma once
// What ranks that divide the vocabulary tell each other of a row's loss, and how it becomes one.

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/tensor.hpp"

namespace dt::kernels {

/// Σ e^x over logits, as e^shift · sum; kept apart, since log Σ e^x would lose log(sum) beside a huge shift.
struct SumOfExponentials {
  double shift, sum;
  /// −log of the share that e^x has of it.
  double nll(double x) const { return shift - x + std::log(sum); }
};

/// A row's loss as a rank's columns have it, or all ranks'.
struct LossPart {
  SumOfExponentials exponentials;
  double at_label;  // 0 where the label's column is elsewhere
  double nll() const { return exponentials.nll(at_label); }
};

inline void set_part(const Tensor& parts_3R, std::int64_t r, const LossPart& part) {
  const std::int64_t R = parts_3R.dim(1);
  double* parts = parts_3R.data<double>() + r;
  parts[0] = part.exponentials.shift;
  parts[R] = part.exponentials.sum;
  parts[2 * R] = part.at_label;
}

/// The whole of row r, added up in the ranks' order.
inline LossPart combine_parts(const Tensor& parts_N3R, std::int64_t r) {
  const std::int64_t N = parts_N3R.dim(0), R = parts_N3R.dim(2);
  const double* parts = parts_N3R.data<double>() + r;
  LossPart whole{{std::numeric_limits<double>::lowest(), 0}, 0};
  auto& [shift, sum] = whole.exponentials;
  for (std::int64_t n = 0; n < N; ++n) shift = std::max(shift, parts[3 * n * R]);
  for (std::int64_t n = 0; n < N; ++n, parts += 3 * R) {
    sum += parts[R] * std::exp(parts[0] - shift);
    whole.at_label += parts[2 * R];
  }
  return whole;
}

}  // namespace dt::kernels
