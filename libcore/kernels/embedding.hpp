#pragma once
// Table look-up. Legend: R rows, V table rows, C features. table, y and dy are of one dtype: f64, f32, bf16
// or f16; dtable is fp64 for fp64 tensors, else fp32 or bf16. Ranks may divide a table by rows: `slice` says
// which ones a tensor has, ids count the whole table's.

#include "kernels/slice.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// y_RC = table_VC[ids_R], 0 where another rank has the row; with `add`, y += . ids are int32 in [0, the
/// whole table's rows). Outside: Error{internal}; on a GPU, where nobody looks at them first, rows of 0.
void embedding(const Context& context, const Tensor& ids_R, const Tensor& table_VC, bool add,
               const Tensor& y_RC, Slice slice = {});
/// dtable_VC[ids_R] += dy_RC for the rows that are here, in order (the same bits for any number of threads,
/// and however the table is divided). On a GPU rows whose ids lie outside are nobody's.
void embedding_backward(const Context& context, const Tensor& ids_R, const Tensor& dy_RC,
                        const Tensor& dtable_VC, Slice slice = {});

}  // namespace dt::kernels
