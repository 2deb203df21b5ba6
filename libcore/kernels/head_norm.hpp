#pragma once
// Root-mean-square normalization of groups of columns, in place: each head of queries or keys on its own,
// or all of them as one group, of which other ranks may have more features.
// Legend: R rows, G groups, W features of a group, N = G·W.
// Numerics: x, y, gradients of x and weight have one dtype: f64, f32, bf16 or f16. Statistics are f64
// for f64 tensors, else f32. dweight is f64 for f64 tensors, else f32 or bf16. A row's bits do not depend
// on other rows. All bits are the same for any number of threads.

#include <cstdint>

#include "kernels/attention.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// G groups of W adjacent columns. All are multiplied by one weight of W features.
struct HeadNorm {
  std::int64_t groups = 1;      // G
  std::int64_t width = 0;       // W
  std::int64_t mean_width = 0;  // features over which squares are averaged: W, or those of all ranks
  double eps = 0;
  bool plus_one = false;  // 1 + weight takes the place of weight
};

/// Computes squares_RG = Σ x² of each group, so that ranks can sum them.
void head_norm_squares(const Context& context, const HeadNorm& norm, const Columns& x,
                       const Tensor& squares_RG);
/// Copies x to x_RN for the backward, and computes x = x · rstd · weight, rstd = 1/sqrt(s/mean_width + eps).
/// Here s is the group's element of squares_RG or, if that is absent, the group's own Σ x². rstd_RG may
/// be squares_RG.
/// Source: Zhang & Sennrich 2019, eq. 4; Henry et al. 2020, section 3 (norms of queries and keys).
void head_norm(const Context& context, const HeadNorm& norm, const Tensor& weight_W, const Tensor& squares_RG,
               const Columns& x, const Tensor& x_RN, const Tensor& rstd_RG);

/// Computes products_RG = Σ dy · weight · x of each group, so that ranks can sum them.
void head_norm_products(const Context& context, const HeadNorm& norm, const Tensor& weight_W,
                        const Columns& dy, const Tensor& x_RN, const Tensor& products_RG);
/// Computes, in the place of dy, dx = rstd · (dy · weight − x · rstd² · p/mean_width), and
/// dweight += Σ over rows and groups of dy · x · rstd. Here p is the group's element of products_RG or,
/// if that is absent, the group's own Σ dy · weight · x.
void head_norm_backward(const Context& context, const HeadNorm& norm, const Tensor& weight_W,
                        const Tensor& products_RG, const Columns& dy, const Tensor& x_RN,
                        const Tensor& rstd_RG, const Tensor& dweight_W);

}  // namespace dt::kernels
