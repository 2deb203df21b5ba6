#pragma once
// Matrix products that tensor-parallel ranks divide. A column-parallel product computes some of the
// output features on each rank from all input features. In a row-parallel product each rank has
// some of the input features, and the ranks' products are summed. The ranks never exchange the
// tensors between the two. A product may be computed in chunks of rows, so that one chunk is
// exchanged while the next is multiplied. No bit depends on the chunks.
// Source: Shoeybi et al. 2019, section 3.
// Legend: R rows, L this rank's rows where tensors are not split by features (see TensorParallelOps), C
// features that all ranks have, F features that the ranks divide.

#include <cstdint>
#include <functional>

#include "model/tensor_parallel/async_all_gather.hpp"
#include "model/tensor_parallel/tensor_parallel_ops.hpp"

namespace dt::model {

/// Returns `local` if ranks do not divide rows; otherwise all rows, gathered into scratch memory.
/// Blocks.
Tensor all_gather_rows(const Context& context, const TensorParallelOps& ops, const Tensor& local_LC);
/// Computes the sum over the ranks of their `partial`, and writes this rank's rows to `local`.
/// Blocks.
void reduce_rows(const Context& context, const TensorParallelOps& ops, const Tensor& partial_RC,
                 const Tensor& local_LC);
/// Returns memory for a rank's partial products of all rows until they are summed. It is `local`,
/// or scratch memory if `local` has fewer rows.
Tensor partial_sum_buffer(const Context& context, const TensorParallelOps& ops, std::int64_t rows,
                          const Tensor& local_LC);

/// Computes rows [begin, end) of a product's operand, just before they are multiplied and while
/// other rows travel.
using ComputeRows = std::function<void(std::int64_t begin, std::int64_t end)>;
/// Work that overlaps the exchange of a product's last rows; may be absent.
using OverlappedWork = std::function<void()>;
/// Calls `make` for all of `rows` rows, in the same ranges and order as row_parallel().
void for_product_chunks(const TensorParallelOps& ops, std::int64_t rows, const ComputeRows& make);

/// Computes y_RF = x_RC · w_FCᵀ + bias_F. The bias may be absent.
void column_parallel(const Context& context, const TensorParallelOps& ops, const Tensor& x_LC,
                     const Tensor& w_FC, const Tensor& bias_F, const Tensor& y_RF);
/// Computes dx_LC = Σ over the ranks of dy_RF · w_FC. dx may not alias dy. `make_dy`, if given,
/// computes dy.
void column_parallel_backward_input(const Context& context, const TensorParallelOps& ops, const Tensor& dy_RF,
                                    const Tensor& w_FC, const Tensor& dx_LC, const ComputeRows& make_dy,
                                    const OverlappedWork& overlapped_work);

/// Computes y_LC = residual_LC + bias_C + Σ over the ranks of x_RF · w_CFᵀ. Bias and residual may
/// be absent. y may alias neither x nor the residual. `make_x`, if given, computes x.
void row_parallel(const Context& context, const TensorParallelOps& ops, const Tensor& x_RF,
                  const Tensor& w_CF, const Tensor& bias_C, const Tensor& residual_LC, const Tensor& y_LC,
                  const ComputeRows& make_x = {});
/// Computes dx_RF = dy_RC · w_CF, chunk by chunk as dy arrives.
void row_parallel_backward_input(const Context& context, AsyncAllGather& dy_RC, const Tensor& w_CF,
                                 const Tensor& dx_RF);
/// Computes dw_CF += dy_RCᵀ · x_RF and, if present, dbias_C += Σ over rows of dy. If ranks divide
/// rows, dbias sums over this rank's rows, so that each rank has a part of that sum.
void row_parallel_backward_weight(const Context& context, const TensorParallelOps& ops, const Tensor& dy_RC,
                                  const Tensor& x_RF, const Tensor& dw_CF, const Tensor& dbias_C);

}  // namespace dt::model
