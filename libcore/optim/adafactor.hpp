#pragma once
// Adafactor: AdamW's second moment, with R + C numbers for a matrix of R rows and C columns. With a
// gradient G (after its factor), a learning rate η and β = 1 − t^(−beta2_decay):
//   r = β·r + (1 − β)·(mean of G² over columns + ε₁); c = β·c + (1 − β)·(mean of G² over rows + ε₁);
//   V = r·cᵀ / mean(r), for a vector V = β·V + (1 − β)·(G² + ε₁);
//   U = G / √V; U = U / max(1, RMS(U) / clip_threshold); W = W − η·weight_decay·W − α·U.
// α is η, or min(η, 1/√t) with relative_step. With scale_parameter it is multiplied by max(ε₂, RMS(W)). With
// both, α is the paper's, and that of torch.optim.Adafactor. The matrices are those of torch.optim, except
// that each expert is one matrix. The embedding and the head are matrices, too.
// Source: Shazeer & Stern 2018, algorithms 4, 5 and 6, and section 7.2.

#include "optim/optimizer.hpp"

namespace dt::optim {

/// Returns whether the optimizer factors second moments. train::FactoredUpdate makes its update.
bool factors_moments(const OptimizerSettings& settings);

/// The definition of a matrix, as manifests record it. Another definition gives other updates.
inline constexpr const char* factored_definition =
    "weights, embedding and head whole, q, k, v and experts apart";

/// The paper's ε₁ and ε₂.
inline constexpr double moment_eps = 1e-30, scale_eps = 1e-3;

/// Returns the number of sums of squares over each matrix in a step: of its direction, of its weights.
int num_norms(const OptimizerSettings& settings);

/// Returns β of a step.
double second_moment_decay(const kernels::OptimizerStep& step);

/// Updates the row moments or the column moments of a matrix. `means` are the means of G² over each line.
/// Numerics: f32 or f64 state, computed in fp64.
void update_line_moments(std::span<const double> means, double decay, const Tensor& moments);

/// Sets the row factors and column factors of a matrix from its moments: 1/√V = row factor · column factor.
void set_line_factors(const Tensor& row_moments_R, const Tensor& column_moments_C, std::span<double> rows_R,
                      std::span<double> columns_C);

/// Returns α ÷ max(1, RMS(U) / clip_threshold), without the factor of the parameter's class. `weight_rms` is
/// used only with scale_parameter, and `direction_rms` only with a clip_threshold above 0.
double update_rate(const kernels::OptimizerStep& step, double weight_rms, double direction_rms);

}  // namespace dt::optim
