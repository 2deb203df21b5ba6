#pragma once
// The rotary position encoding.
// Legend: see kernels/attention.hpp; P positions, F frequencies. Each turns a pair of features of a head, so
// that 2F of D features rotate.

#include <cstdint>

#include "kernels/attention.hpp"
#include "kernels/rotary_scaling.hpp"

namespace dt::kernels {

/// Returns F, the number of frequencies for heads of `head_dim` features.
std::int64_t num_rotary_frequencies(const RotaryFrequencies& frequencies, std::int64_t head_dim);

/// Fills cos_PF and sin_PF with attention_factor times the cosines and sines of the angles
/// p · frequency(i), where frequency(i) is theta^(−2i/n), scaled, and n the number of rotating features
/// before it is rounded up. `sequence` is the length of training's sequences, by which longrope chooses
/// its factors.
/// Numerics: angles are computed in double.
/// Source: Su et al. 2021, section 3.4.2; kernels/rotary_scaling.hpp.
void rotary_tables(const RotaryFrequencies& frequencies, std::int64_t head_dim, std::int64_t sequence,
                   const Tensor& cos_PF, const Tensor& sin_PF);
/// Fills factor_P with 1 + query_scale · ln(1 + ⌊p / original_positions⌋).
/// Source: Nakanishi 2025, section 3 (a temperature that grows with the logarithm of the position).
void query_factors(const RotaryFrequencies& frequencies, const Tensor& factor_P);

/// The tables by which rotary() turns heads.
struct Rotation {
  Tensor cos_PF, sin_PF;
  Tensor query_factor_P{};      // factors of queries; absent: 1
  bool is_interleaved = false;  // features 2i and 2i + 1 are a pair, instead of i and i + F
};

/// Rotates the first 2F features of the query and key heads of every row in place, and multiplies
/// queries by their position's factor. `inverse` rotates in the other direction and multiplies by the
/// same factors, which is the backward.
/// Numerics: the tables are f64 for f64 qkv, else f32.
void rotary(const Context& context, const AttentionShape& shape, const Tensor& positions_R,
            const Rotation& rotation, bool inverse, const Tensor& qkv_RE);

}  // namespace dt::kernels
