#pragma once
// The partial losses of a row that ranks which divide the vocabulary exchange, and their combination.
// Also for GPUs.

#include <cmath>
#include <cstdint>
#include <limits>

#ifdef __CUDACC__
#define DT_ALSO_ON_GPUS __host__ __device__
#else
#define DT_ALSO_ON_GPUS
#endif

namespace dt::kernels {

/// Σ e^x over logits, as e^shift · sum. A single log Σ e^x would lose log(sum) beside a huge shift.
struct SumOfExponentials {
  double shift, sum;
  /// Returns −log of the share of e^x in the sum.
  DT_ALSO_ON_GPUS double nll(double x) const { return shift - x + std::log(sum); }
};

/// A row's loss over the columns of one rank, or of all ranks.
struct PartialLoss {
  SumOfExponentials exponentials;
  double label_logit;  // 0 if another rank has the label's column
  DT_ALSO_ON_GPUS double nll() const { return exponentials.nll(label_logit); }
};

DT_ALSO_ON_GPUS inline void store_partial_loss(double* part_3R, std::int64_t R, std::int64_t r,
                                               const PartialLoss& part) {
  part_3R[r] = part.exponentials.shift;
  part_3R[R + r] = part.exponentials.sum;
  part_3R[2 * R + r] = part.label_logit;
}

/// Returns the loss of row r of R, summed over the N ranks in order.
DT_ALSO_ON_GPUS inline PartialLoss combine_partial_losses(const double* parts_N3R, std::int64_t N,
                                                          std::int64_t R, std::int64_t r) {
  const double* parts = parts_N3R + r;
  PartialLoss whole{{std::numeric_limits<double>::lowest(), 0}, 0};
  auto& [shift, sum] = whole.exponentials;
  for (std::int64_t n = 0; n < N; ++n) {
    if (parts[3 * n * R] > shift) shift = parts[3 * n * R];
  }
  for (std::int64_t n = 0; n < N; ++n, parts += 3 * R) {
    sum += parts[R] * std::exp(parts[0] - shift);
    whole.label_logit += parts[2 * R];
  }
  return whole;
}

}  // namespace dt::kernels
