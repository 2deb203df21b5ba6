#pragma once
// Muon: momentum whose direction is made orthogonal, for matrices. With a gradient G (after its factor), a
// momentum β and a learning rate η, of a matrix of R rows and C columns:
//   B = β·B + (1 − β)·G; U = (1 − β)·G + β·B; X = newton_schulz(U);
//   W = W − η·(weight_decay·W + 0.2·√max(R, C)·X).
// The factor of X gives its elements the root mean square of AdamW's updates, so that one learning rate
// serves both. AdamW updates all parameters that are no matrices of blocks.
// Source: Jordan et al. 2024, "Muon"; Liu et al. 2025 (Moonlight), sections 2.1 and 2.2.

#include "optim/optimizer.hpp"

namespace dt::optim {

/// Returns whether the optimizer updates whole matrices, by the functions below.
bool updates_matrices(const OptimizerSettings& settings);

/// The definition of a matrix, as manifests record it. Another one gives other updates.
inline constexpr const char* matrix_definition = "weights whole, q, k, v and experts apart";

/// Returns the step of the parameters that Muon leaves to AdamW. `peak_lr` is the schedule's.
kernels::OptimizerStep step_of_others(const kernels::OptimizerStep& step, double peak_lr);

/// Updates B of some elements, and sets U. Elements do not depend on each other.
/// Shapes: all tensors have one length.
/// Numerics: B and U have one dtype, f32 or f64; the gradient's is as in kernels::optimizer_step().
void update_momentum(const Context& context, const kernels::OptimizerStep& step, const Tensor& gradient,
                     const Tensor& momentum_B, const Tensor& direction_U);

/// Updates the weights of some elements of a matrix by their X. `copy`, if present, receives the new weights
/// rounded to its dtype.
void apply_direction(const Context& context, const kernels::OptimizerStep& step, std::int64_t rows,
                     std::int64_t columns, const Tensor& direction_X, const Tensor& weights,
                     const Tensor& copy = {});

}  // namespace dt::optim
