#pragma once
// What ranks that divide the vocabulary tell each other of a row's loss, and how it becomes one: also on
// GPUs.

#include <cmath>
#include <cstdint>
#include <limits>

#ifdef __CUDACC__
#define DT_ALSO_ON_GPUS __host__ __device__
#else
#define DT_ALSO_ON_GPUS
#endif

namespace dt::kernels {

/// Σ e^x over logits, as e^shift · sum; kept apart, since log Σ e^x would lose log(sum) beside a huge shift.
struct SumOfExponentials {
  double shift, sum;
  /// −log of the share that e^x has of it.
  DT_ALSO_ON_GPUS double nll(double x) const { return shift - x + std::log(sum); }
};

/// A row's loss as a rank's columns have it, or all ranks'.
struct LossPart {
  SumOfExponentials exponentials;
  double at_label;  // 0 where the label's column is elsewhere
  DT_ALSO_ON_GPUS double nll() const { return exponentials.nll(at_label); }
};

DT_ALSO_ON_GPUS inline void set_part(double* part_3R, std::int64_t R, std::int64_t r, const LossPart& part) {
  part_3R[r] = part.exponentials.shift;
  part_3R[R + r] = part.exponentials.sum;
  part_3R[2 * R + r] = part.at_label;
}

/// The whole of row r of R, added up in the order of the N ranks.
DT_ALSO_ON_GPUS inline LossPart combine_parts(const double* parts_N3R, std::int64_t N, std::int64_t R,
                                              std::int64_t r) {
  const double* parts = parts_N3R + r;
  LossPart whole{{std::numeric_limits<double>::lowest(), 0}, 0};
  auto& [shift, sum] = whole.exponentials;
  for (std::int64_t n = 0; n < N; ++n) {
    if (parts[3 * n * R] > shift) shift = parts[3 * n * R];
  }
  for (std::int64_t n = 0; n < N; ++n, parts += 3 * R) {
    sum += parts[R] * std::exp(parts[0] - shift);
    whole.at_label += parts[2 * R];
  }
  return whole;
}

}  // namespace dt::kernels
