#include "model/tensor_parallel/parallel_linear.hpp"

#include <vector>

#include "kernels/elementwise.hpp"
#include "kernels/linear.hpp"

namespace dt::model {

namespace {

/// Computes local_LC = Σ over the ranks of the products that multiply(rows, run, target) writes.
/// Each chunk travels as soon as it is computed, while later chunks and then `overlapped_work` are
/// computed. Calls `finish` after each chunk's sum.
template <class Multiply, class Finish>
void sum_of_products(const Context& context, const TensorParallelOps& ops, const Tensor& local_LC,
                     const Multiply& multiply, const Finish& finish,
                     const OverlappedWork& overlapped_work = {}) {
  const Arena::Scope scope(context.scratch());
  const std::int64_t local_rows = local_LC.dim(0);
  const Tensor memory_RC =
      partial_sum_buffer(context, ops, local_rows * ops.shard().num_row_ranks(), local_LC);
  struct Chunk {
    std::int64_t begin, end;
    PendingCollectiveHandle under_way;
  };
  std::vector<Chunk> chunks;
  for_chunks(local_rows, ops.num_chunks(), [&](std::int64_t begin, std::int64_t end) {
    const RowChunk rows(ops.shard(), local_rows, begin, end);
    const Tensor partial = rows.place_in(memory_RC);
    for (int run = 0; run < rows.num_runs(); ++run) multiply(rows, run, rows.run_in_packed(partial, run));
    chunks.push_back({begin, end, ops.start_reduce(partial, local_LC.rows(begin, end))});
  });
  if (overlapped_work) overlapped_work();
  for (const Chunk& chunk : chunks) {
    wait(context, chunk.under_way);
    finish(chunk.begin, chunk.end);
  }
}

}  // namespace

void for_product_chunks(const TensorParallelOps& ops, std::int64_t rows, const ComputeRows& make) {
  if (ops.shard().is_whole()) return make(0, rows);
  const std::int64_t local_rows = ops.shard().local_rows(rows);
  for_chunks(local_rows, ops.num_chunks(), [&](std::int64_t begin, std::int64_t end) {
    const RowChunk chunk(ops.shard(), local_rows, begin, end);
    for (int run = 0; run < chunk.num_runs(); ++run)
      make(chunk.first(run), chunk.first(run) + chunk.length());
  });
}

Tensor all_gather_rows(const Context& context, const TensorParallelOps& ops, const Tensor& local_LC) {
  if (!ops.shard().sequence_parallel) return local_LC;
  const Tensor all_RC =
      context.scratch().allocate(local_LC.dtype(), {local_LC.dim(0) * ops.shard().size, local_LC.dim(1)});
  return AsyncAllGather(context, ops, local_LC, all_RC).all();
}

void reduce_rows(const Context& context, const TensorParallelOps& ops, const Tensor& partial_RC,
                 const Tensor& local_LC) {
  wait(context, ops.start_reduce(partial_RC, local_LC));
}

Tensor partial_sum_buffer(const Context& context, const TensorParallelOps& ops, std::int64_t rows,
                          const Tensor& local_LC) {
  if (!ops.shard().sequence_parallel) return local_LC;
  return context.scratch().allocate(local_LC.dtype(), {rows, local_LC.dim(1)});
}

void column_parallel(const Context& context, const TensorParallelOps& ops, const Tensor& x_LC,
                     const Tensor& w_FC, const Tensor& bias_F, const Tensor& y_RF) {
  if (!ops.shard().sequence_parallel) return kernels::linear(context, x_LC, w_FC, bias_F, {}, y_RF);
  const Arena::Scope scope(context.scratch());
  const Tensor memory_RC = context.scratch().allocate(x_LC.dtype(), {y_RF.dim(0), x_LC.dim(1)});
  AsyncAllGather(context, ops, x_LC, memory_RC, {})
      .for_runs([&](std::int64_t begin, std::int64_t end, const Tensor& x_RC) {
        kernels::linear(context, x_RC, w_FC, bias_F, {}, y_RF.rows(begin, end));
      });
}

void column_parallel_backward_input(const Context& context, const TensorParallelOps& ops, const Tensor& dy_RF,
                                    const Tensor& w_FC, const Tensor& dx_LC, const ComputeRows& make_dy,
                                    const OverlappedWork& overlapped_work) {
  sum_of_products(
      context, ops, dx_LC,
      [&](const RowChunk& rows, int run, const Tensor& partial) {
        if (make_dy) make_dy(rows.first(run), rows.first(run) + rows.length());
        kernels::linear_backward_input(context, rows.run_in_full(dy_RF, run), w_FC, partial);
      },
      [](std::int64_t, std::int64_t) {}, overlapped_work);
}

void row_parallel(const Context& context, const TensorParallelOps& ops, const Tensor& x_RF,
                  const Tensor& w_CF, const Tensor& bias_C, const Tensor& residual_LC, const Tensor& y_LC,
                  const ComputeRows& make_x) {
  if (ops.shard().is_whole()) {
    if (make_x) make_x(0, x_RF.dim(0));
    return kernels::linear(context, x_RF, w_CF, bias_C, residual_LC, y_LC);
  }
  sum_of_products(
      context, ops, y_LC,
      [&](const RowChunk& rows, int run, const Tensor& partial) {
        if (make_x) make_x(rows.first(run), rows.first(run) + rows.length());
        kernels::linear(context, rows.run_in_full(x_RF, run), w_CF, {}, {}, partial);
      },
      [&](std::int64_t begin, std::int64_t end) {
        const Tensor y = y_LC.rows(begin, end);
        kernels::add_bias_residual(context, y, bias_C, residual_LC ? residual_LC.rows(begin, end) : Tensor(),
                                   y);
      });
}

void row_parallel_backward_input(const Context& context, AsyncAllGather& dy_RC, const Tensor& w_CF,
                                 const Tensor& dx_RF) {
  dy_RC.for_runs([&](std::int64_t begin, std::int64_t end, const Tensor& dy) {
    kernels::linear_backward_input(context, dy, w_CF, dx_RF.rows(begin, end));
  });
}

void row_parallel_backward_weight(const Context& context, const TensorParallelOps& ops, const Tensor& dy_RC,
                                  const Tensor& x_RF, const Tensor& dw_CF, const Tensor& dbias_C) {
  const bool divides = ops.shard().sequence_parallel;
  kernels::linear_backward_weight(context, dy_RC, x_RF, dw_CF, divides ? Tensor() : dbias_C);
  if (divides && dbias_C) kernels::bias_backward(context, ops.shard().local_rows_of(dy_RC), dbias_C);
}

}  // namespace dt::model
