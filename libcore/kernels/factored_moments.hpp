#pragma once
// The parts of Adafactor's update that touch every element. A rank may hold any piece of a tensor. Sums over
// elements are therefore integers: ranks can add them in any order with the same result.
// Legend: M matrices (or vectors) of a tensor: 1, or one for each expert; R rows and C columns of a matrix. A
// line is a row or a column.

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/numeric/exact_sum.hpp"
#include "tensor/context.hpp"
#include "tensor/piece.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// Elements of a tensor that one rank holds. `values` has the elements of `piece`, one after the other. All
/// functions below run on the host.
/// Numerics: values are f64, f32 or bf16; sums and factors are computed in fp64.
struct HeldElements {
  Piece piece;
  std::int64_t matrices = 1;  // M; the global tensor has them along its first dim if there are several
  Tensor values;
};

/// Returns the most scratch memory that a function below takes for a tensor: each thread has numbers for its
/// columns, or a sum for each matrix.
std::size_t factored_scratch_bytes(int threads, std::int64_t matrices, std::int64_t columns);

/// Returns sums of zero in scratch memory.
std::span<ExactSum> allocate_sums(const Context& context, std::int64_t count);
/// Returns the bytes that they take.
std::size_t sums_bytes(std::int64_t count);

/// Raises row_max_MR and column_max_MC to the largest magnitudes of the held elements.
void find_line_maxima(const Context& context, const HeldElements& elements, std::span<double> row_max_MR,
                      std::span<double> column_max_MC);

/// Returns the factor that add_line_squares() applies to the elements of a line before it squares them. It
/// depends on the line's largest magnitude and its length. It is a power of two, or 0 for a line of zeros.
double line_scale(double max, std::int64_t length);

/// Adds the squares of the held elements to the sums of their rows and columns. A square is (element · scale
/// of the line)², rounded to an integer. No sum overflows. Relative to the largest square of its line, the
/// error of a sum is at most length · 2^(1 − k). Here k is the largest even number up to 50 for which
/// length · 2^k is below 2^62.
void add_line_squares(const Context& context, const HeldElements& elements,
                      std::span<const double> row_scale_MR, std::span<const double> column_scale_MC,
                      std::span<std::int64_t> row_sums_MR, std::span<std::int64_t> column_sums_MC);

/// The direction of an update before clipping. For each element it is factor · gradient · row factor · column
/// factor if these factors are present, otherwise factor · gradient / √moment. Without factors and moments it
/// is factor · gradient. Moments are in the order of the gradient's elements.
struct Direction {
  HeldElements gradient;
  double factor = 1;
  std::span<const double> row_factors_MR = {};
  std::span<const double> column_factors_MC = {};
  Tensor moments = {};
};

/// Updates the second moments of held elements: v = β·v + (1 − β)·((factor · gradient)² + eps), β = `decay`.
void update_second_moments(const Context& context, const Tensor& gradient, const Tensor& moments,
                           double factor, double decay, double eps);

/// Adds the squares of the directions of held elements to the sums of their matrices.
void add_direction_squares(const Context& context, const Direction& direction, std::span<ExactSum> sums_M);

/// Updates weights: w = w − (decay · w + rate · direction), with the rate of the element's matrix.
/// Numerics: in fp64; the weight is rounded once.
void apply_factored_direction(const Context& context, const Direction& direction,
                              std::span<const double> rates_M, double decay, const Tensor& weights);

}  // namespace dt::kernels
