#include "model/tensor_parallel/tensor_parallel_ops.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dt::model {

std::int64_t TensorParallelShard::local_rows(std::int64_t rows) const {
  DT_CHECK(rows % num_row_ranks() == 0, "{} rows over {} ranks", rows, size);
  return rows / num_row_ranks();
}

Tensor TensorParallelShard::local_rows_of(const Tensor& full_R) const {
  const std::int64_t count = local_rows(full_R.dim(0));
  return sequence_parallel ? full_R.rows(rank * count, (rank + 1) * count) : full_R;
}

ModelSpec shard_spec(const ModelSpec& spec, const TensorParallelShard& shard) {
  ModelSpec own = spec;
  own.query_heads = spec.query_heads / shard.size;
  own.key_value_heads = std::max<std::int64_t>(1, spec.key_value_heads / shard.size);
  own.mlp_hidden = even_range(shard.rank, shard.size, spec.mlp_hidden).count;
  return own;
}

PendingCollectiveHandle TensorParallelOps::start_reduce(const Tensor& partial, const Tensor& local) const {
  DT_CHECK(shard_.is_whole() && partial.raw() == local.raw(),
           "a single rank cannot reduce into another buffer");
  return {};
}
PendingCollectiveHandle TensorParallelOps::start_all_gather_rows(const Tensor&, const Tensor&) const {
  DT_CHECK(false, "a single rank has no rows to gather");
  return {};
}
PendingCollectiveHandle TensorParallelOps::start_all_gather(const Tensor&, const Tensor&) const {
  DT_CHECK(false, "a single rank has nothing to gather");
  return {};
}

PendingCollectiveHandle TensorParallelOps::start_ring_shift(const Tensor&, const Tensor&) const {
  DT_CHECK(false, "a single rank has no ring");
  return {};
}

const TensorParallelOps& single_rank_ops() {
  static const TensorParallelOps ops;
  return ops;
}

}  // namespace dt::model
