#pragma once
// The language-model loss. On GPUs the rows of logits may be padded (Tensor::pitch); the padding is
// neither read nor written.
// Legend: R rows, V vocabulary (or a rank's columns of it), N ranks.

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/dim_shard.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

#ifdef __CUDACC__
#define DT_ALSO_ON_GPUS __host__ __device__
#else
#define DT_ALSO_ON_GPUS
#endif

namespace dt::kernels {

/// The losses of rows, in fp64. They are 0 for a negative label, which is no target.
struct TokenLosses {
  TokenLosses(const Tensor& nll, const Tensor& squared_lse = {}) : nll_R(nll), squared_lse_R(squared_lse) {}
  Tensor nll_R;          // −log softmax(logits)[label]
  Tensor squared_lse_R;  // (log Σ e^logit)², the z-loss; may be absent
};

/// The function of a target's logits whose gradient replaces them:
///   scale · (nll + z_coefficient · (log Σ e^logit)²).
/// Source: Chowdhery et al. 2022 (PaLM), section 5, for the second term.
struct LossGradient {
  LossGradient(double factor, double z = 0, double cap = 0) : scale(factor), z_coefficient(z), softcap(cap) {}
  double scale;
  double z_coefficient;
  /// If it is not 0, logits are cap · tanh(x / cap), and the gradient is that of x: it has the factor
  /// 1 − (logit / cap)².
  double softcap;
};

/// Computes the losses of each row. logits are f64, f32, bf16 or f16; labels are int32.
/// Errors: internal for a label beyond the vocabulary. On a GPU, labels are not checked, and the
/// nll is NaN.
void cross_entropy(const Context& context, const Tensor& logits_RV, const Tensor& labels_R,
                   const TokenLosses& losses);
/// Computes the same losses, and replaces the logits by their gradient. Without z-loss and cap it is
/// (softmax − onehot) · scale for each row. Rows with a negative label become zero. Each row is read
/// from memory once; on a GPU it is read again from the cache.
void cross_entropy_gradient(const Context& context, const Tensor& labels_R, const LossGradient& gradient,
                            const TokenLosses& losses, const Tensor& logits_RV);

// The functions below compute the same if N ranks divide the vocabulary, evenly or not. `columns`
// are a rank's columns of the vocabulary; labels count the whole vocabulary. Each rank computes its
// part, the ranks gather all parts, and each rank finishes its own columns, with the same losses on
// all ranks.
// Source: Shoeybi et al. 2019, section 3.

/// Computes this rank's part in fp64. Each row has {s, Σ e^(logit − s), the label's logit or 0 if
/// another rank has its column}. s is a shift near the row's highest logits. Rows with a negative
/// label are zero.
void cross_entropy_partial(const Context& context, const Tensor& logits_RV, const Tensor& labels_R,
                           DimShard columns, const Tensor& part_3R);
/// Computes the losses from the partial losses of all ranks in rank order.
void cross_entropy_from_partials(const Context& context, const Tensor& parts_N3R, const Tensor& labels_R,
                                 const TokenLosses& losses);
/// Computes the same losses, and replaces this rank's logits by their gradient, as
/// cross_entropy_gradient does.
void cross_entropy_gradient_from_partials(const Context& context, const Tensor& parts_N3R,
                                          const Tensor& labels_R, DimShard columns,
                                          const LossGradient& gradient, const TokenLosses& losses,
                                          const Tensor& logits_RV);

// The partial losses of a row and their combination, for kernels on CPUs and GPUs.

/// Σ e^x over logits, as e^shift · sum. A single log Σ e^x would lose log(sum) beside a huge shift.
struct SumOfExponentials {
  double shift, sum;
  /// Returns −log of the share of e^x in the sum.
  DT_ALSO_ON_GPUS double nll(double x) const { return shift - x + std::log(sum); }
  DT_ALSO_ON_GPUS double squared_log() const { return nll(0) * nll(0); }
  /// Returns the factor that z-loss gives softmax in the gradient. It is 1 without z-loss.
  DT_ALSO_ON_GPUS double softmax_factor(double z_coefficient) const {
    return z_coefficient == 0 ? 1 : 1 + 2 * z_coefficient * nll(0);
  }
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
