#pragma once
// Table look-up. Ranks may divide a table by rows: `shard` says which rows a tensor has. Ids count
// the whole table's rows.
// Numerics: table, y and dy have one dtype: f64, f32, bf16 or f16. dtable is fp64 for fp64 tensors,
// else fp32 or bf16.
// Legend: R rows, V table rows, C features.

#include "kernels/dim_shard.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// Computes y_RC = table_VC[ids_R], 0 if another rank has the row; with `add`, adds to y. ids are
/// int32 in [0, the whole table's rows).
/// Errors: internal for other ids. On a GPU, ids are not checked, and rows are 0.
void embedding(const Context& context, const Tensor& ids_R, const Tensor& table_VC, bool add,
               const Tensor& y_RC, DimShard shard = {});
/// Adds dy_RC to dtable_VC[ids_R] for the rows in the shard, in order. On a GPU, ids outside the
/// table are ignored.
/// Numerics: the same bits for any number of threads and any division of the table.
void embedding_backward(const Context& context, const Tensor& ids_R, const Tensor& dy_RC,
                        const Tensor& dtable_VC, DimShard shard = {});

}  // namespace dt::kernels
