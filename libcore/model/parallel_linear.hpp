#pragma once
// Matrix products cut among the ranks that share a layer (Shoeybi et al. 2019, section 3): by columns, where
// each rank makes some of the features from all that come in, and by rows, where each has some of the
// features that come in and the ranks' products add up. What lies between the two is never exchanged. A
// product may be made in chunks of rows, so that one is exchanged while the next is multiplied; no bit
// depends on that.
// Legend: R rows, L those of them that are this rank's where nothing is cut (see Seam), C features that all
// ranks have, F those of which each has some.

#include <cstdint>
#include <functional>

#include "model/arriving_rows.hpp"
#include "model/seam.hpp"

namespace dt::model {

/// All rows of a tensor: itself, or gathered into scratch memory; blocks.
Tensor all_rows(const Context& context, const Seam& seam, const Tensor& local_LC);
/// Σ over the ranks of what each has of all rows; blocks.
void sum(const Context& context, const Seam& seam, const Tensor& partial_RC, const Tensor& local_LC);
/// Where what a rank makes of all rows lies until the ranks' are added up: where their sum will be, unless
/// that has fewer rows.
Tensor memory_for_partial(const Context& context, const Seam& seam, std::int64_t rows,
                          const Tensor& local_LC);

/// Makes rows [begin, end) of a product's operand, just before they are multiplied and while others travel.
using MakeRows = std::function<void(std::int64_t begin, std::int64_t end)>;
/// What is computed while a product's last rows travel; may be absent.
using Meanwhile = std::function<void()>;

/// y_RF = x_RC · w_FCᵀ + bias_F; the bias may be absent.
void column_parallel(const Context& context, const Seam& seam, const Tensor& x_LC, const Tensor& w_FC,
                     const Tensor& bias_F, const Tensor& y_RF);
/// dx_LC, which may not alias dy, = Σ over the ranks of dy_RF · w_FC; `make_dy`, where given, makes dy.
void column_parallel_backward_input(const Context& context, const Seam& seam, const Tensor& dy_RF,
                                    const Tensor& w_FC, const Tensor& dx_LC, const MakeRows& make_dy,
                                    const Meanwhile& meanwhile);

/// y_LC = residual_LC + bias_C + Σ over the ranks of x_RF · w_CFᵀ. Bias and residual may be absent; y may
/// alias neither x, which `make_x`, where given, makes, nor the residual.
void row_parallel(const Context& context, const Seam& seam, const Tensor& x_RF, const Tensor& w_CF,
                  const Tensor& bias_C, const Tensor& residual_LC, const Tensor& y_LC,
                  const MakeRows& make_x = {});
/// dx_RF = dy_RC · w_CF, chunk by chunk as dy comes.
void row_parallel_backward_input(const Context& context, ArrivingRows& dy_RC, const Tensor& w_CF,
                                 const Tensor& dx_RF);
/// dw_CF += dy_RCᵀ · x_RF; dbias_C += Σ over rows of dy (where present): with rows divided over the rank's
/// own, so that each has a part of that sum.
void row_parallel_backward_weight(const Context& context, const Seam& seam, const Tensor& dy_RC,
                                  const Tensor& x_RF, const Tensor& dw_CF, const Tensor& dbias_C);

}  // namespace dt::model
