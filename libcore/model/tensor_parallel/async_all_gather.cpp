#include "model/tensor_parallel/async_all_gather.hpp"

#include <algorithm>

namespace dt::model {

namespace {

constexpr std::size_t most_under_way = 2;

}  // namespace

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

}  // namespace dt::model
