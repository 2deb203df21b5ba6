#pragma once
// Adafactor: AdamW's second moment, of which a matrix of R rows and C columns keeps R + C numbers. With a
// gradient G (after its factor), a learning rate η and β = 1 − t^(−beta2_decay):
//   r = β·r + (1 − β)·(mean of G² over columns + ε₁); c = β·c + (1 − β)·(mean of G² over rows + ε₁);
//   V = r·cᵀ / mean(r), of a vector V = β·V + (1 − β)·(G² + ε₁);
//   U = G / √V; U = U / max(1, RMS(U) / clip_threshold); W = W − η·weight_decay·W − α·U.
// α is η; with relative_step min(η, 1/√t); with scale_parameter also times max(ε₂, RMS(W)). With both it is
// the paper's, and torch.optim.Adafactor's. A matrix is what torch.optim has as one, except that each expert
// is one; embedding and head are matrices, too. Source: Shazeer & Stern 2018, algorithms 4, 5 and 6, and
// section 7.2.

#include "optim/optimizer.hpp"

namespace dt::optim {

/// Returns whether the optimizer factors second moments. train::FactoredUpdate makes its update.
bool factors_moments(const OptimizerSettings& settings);

/// The definition of a matrix, as manifests record it. Another one gives other updates.
inline constexpr const char* factored_definition =
    "weights, embedding and head whole, q, k, v and experts apart";

/// The paper's ε₁ and ε₂.
inline constexpr double moment_eps = 1e-30, scale_eps = 1e-3;

/// Returns how many sums over each matrix a step makes: of its direction, of its weights.
int num_norms(const OptimizerSettings& settings);

/// Returns β of a step.
double second_moment_decay(const kernels::OptimizerStep& step);

/// Replaces a kind of state of a matrix, its row or column moments, by the step's. `means` are those of G².
/// Numerics: f32 or f64 state, computed in fp64.
void update_line_moments(std::span<const double> means, double decay, const Tensor& moments);

/// Sets the factors of a matrix's directions, 1/√V = row factor · column factor, from its moments.
void set_line_factors(const Tensor& row_moments_R, const Tensor& column_moments_C, std::span<double> rows_R,
                      std::span<double> columns_C);

/// Returns α ÷ max(1, RMS(U) / clip_threshold), without the factor of the parameter's class. `weight_rms` is
/// used with scale_parameter alone, `direction_rms` with a clip_threshold above 0 alone.
double update_rate(const kernels::OptimizerStep& step, double weight_rms, double direction_rms);

}  // namespace dt::optim
