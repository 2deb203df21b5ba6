#include "model/tensor_parallel/parallel_linear.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/linear.hpp"

namespace dt::model {

namespace {

constexpr std::size_t most_under_way = 2;  // chunks of a gather

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

Tensor RowChunk::packed_buffer(const Context& context, const Tensor& full_R) const {
  if (!full_R) return {};
  if (runs_ == 1) return run_in_full(full_R, 0);
  std::vector<std::int64_t> dims = full_R.shape().dims();
  dims[0] = count();
  return context.scratch().allocate(full_R.dtype(), Shape(dims));
}

void RowChunk::pack(const Context& context, const Tensor& full_R, const Tensor& together_R) const {
  for (int run = 0; runs_ > 1 && full_R && run < runs_; ++run)
    kernels::copy(context, run_in_full(full_R, run), run_in_packed(together_R, run));
}

void RowChunk::unpack(const Context& context, const Tensor& together_R, const Tensor& full_R) const {
  for (int run = 0; runs_ > 1 && full_R && run < runs_; ++run)
    kernels::copy(context, run_in_packed(together_R, run), run_in_full(full_R, run));
}

AsyncAllGather::AsyncAllGather(const Context& context, const TensorParallelOps& ops, const Tensor& local_LC,
                               const Tensor& all_RC)
    : context_(&context), ops_(&ops), local_rows_(local_LC.dim(0)), all_RC_(all_RC) {
  chunks_.push_back({RowChunk(ops.shard(), local_rows_, 0, local_rows_), local_LC, all_RC, {}});
}

AsyncAllGather::AsyncAllGather(const Context& context, const TensorParallelOps& ops, const Tensor& local_LC,
                               const Tensor& memory_RC, const Tensor& all_RC)
    : context_(&context), ops_(&ops), local_rows_(local_LC.dim(0)), all_RC_(all_RC) {
  for_chunks(local_rows_, ops.num_chunks(), [&](std::int64_t begin, std::int64_t end) {
    const RowChunk rows(ops.shard(), local_rows_, begin, end);
    const bool is_in_place = rows.num_runs() == 1 && all_RC;
    chunks_.push_back({rows, local_LC.rows(begin, end), is_in_place ? all_RC : rows.place_in(memory_RC), {}});
  });
}

void AsyncAllGather::start(std::size_t num_chunks) {
  for (; num_started_ < std::min(num_chunks, chunks_.size()); ++num_started_) {
    Chunk& chunk = chunks_[num_started_];
    chunk.pending = ops_->start_all_gather_rows(chunk.local, chunk.packed);
  }
}

void AsyncAllGather::start_all() {
  start(chunks_.size());
}

void AsyncAllGather::wait_until(std::size_t num_chunks) {
  while (num_arrived_ < num_chunks) {
    start(num_arrived_ + most_under_way);
    Chunk& chunk = chunks_[num_arrived_++];
    wait(*context_, chunk.pending);
    start(num_arrived_ + most_under_way);
    if (next_ && num_arrived_ + 1 >= chunks_.size()) next_->start_all();
    chunk.rows.unpack(*context_, chunk.packed, all_RC_);
  }
}

const Tensor& AsyncAllGather::wait_for(std::int64_t begin) {
  while (num_arrived_ < chunks_.size() && begin % local_rows_ >= chunks_[num_arrived_].rows.first(0))
    wait_until(num_arrived_ + 1);
  return all_RC_;
}

const Tensor& AsyncAllGather::all() {
  wait_until(chunks_.size());
  return all_RC_;
}

AsyncAllGather all_gather_rows_async(const Context& context, const TensorParallelOps& ops,
                                     const Tensor& local_LC) {
  if (!ops.shard().sequence_parallel) return AsyncAllGather(local_LC);
  const auto all_rows = [&] {
    return context.scratch().allocate(local_LC.dtype(),
                                      {local_LC.dim(0) * ops.shard().size, local_LC.dim(1)});
  };
  return AsyncAllGather(context, ops, local_LC, all_rows(), all_rows());
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

void for_product_chunks(const TensorParallelOps& ops, std::int64_t rows, const ComputeRows& make) {
  if (ops.shard().is_whole()) return make(0, rows);
  const std::int64_t local_rows = ops.shard().local_rows(rows);
  for_chunks(local_rows, ops.num_chunks(), [&](std::int64_t begin, std::int64_t end) {
    const RowChunk chunk(ops.shard(), local_rows, begin, end);
    for (int run = 0; run < chunk.num_runs(); ++run)
      make(chunk.first(run), chunk.first(run) + chunk.length());
  });
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

Tensor fused_view(std::span<const Tensor> parts) {
  const Tensor& first = parts.front();
  std::vector<std::int64_t> dims = first.shape().dims();
  dims[0] = 0;
  const std::byte* end = first.raw();
  for (const Tensor& part : parts) {
    DT_CHECK(
        part.raw() == end && part.dtype() == first.dtype() && part.shape().rank() == first.shape().rank(),
        "parameters of {} and {} do not lie beside each other", first.shape().to_string(),
        part.shape().to_string());
    dims[0] += part.dim(0);
    end += part.bytes();
  }
  return Tensor(first.raw(), first.dtype(), Shape(dims), first.device());
}

}  // namespace dt::model
