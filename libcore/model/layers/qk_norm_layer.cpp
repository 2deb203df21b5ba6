#include "model/layers/qk_norm_layer.hpp"

#include "kernels/elementwise.hpp"

namespace dt::model {

QkNormLayer::QkNormLayer(const ModelSpec& shard, DType dtype, const TensorParallelOps& ops)
    : is_full_width_(shard.qk_norm == QkNorm::full_width),
      dtype_(dtype),
      ops_(ops),
      q_(heads_of(shard, shard.query_heads, 0)),
      k_(heads_of(shard, shard.key_value_heads, shard.query_heads * shard.head_dim)) {}

/// If several ranks hold the same keys, each adds their squares, and a part of their products with
/// gradients that come from its own queries. A mean over the features of all ranks, counted as often as they
/// are held, is right for both. In the backward each then subtracts its share of what their sum needs.
QkNormLayer::Heads QkNormLayer::heads_of(const ModelSpec& shard, std::int64_t heads,
                                         std::int64_t first_column) const {
  const std::int64_t groups = is_full_width_ ? 1 : heads,
                     width = is_full_width_ ? heads * shard.head_dim : shard.head_dim,
                     ranks = is_full_width_ ? ops_.shard().size : 1;
  return {{groups, width, width * ranks, shard.norm_eps, shard.norm_weight_plus_one}, first_column};
}

QkNormLayer::Saved QkNormLayer::saved(BumpAllocator& memory, std::int64_t rows) const {
  const DType statistics = statistics_dtype(dtype_);
  Saved s;
  s.q_RQ = memory.allocate(dtype_, {rows, q_.norm.groups * q_.norm.width});
  s.k_RK = memory.allocate(dtype_, {rows, k_.norm.groups * k_.norm.width});
  s.rstd = memory.allocate(statistics, {rows * num_groups()});
  s.dweights = memory.allocate(statistics, {q_.norm.width + k_.norm.width});
  return s;
}

std::size_t QkNormLayer::scratch_bytes(std::int64_t rows) const {
  if (!crosses_ranks()) return 0;
  const std::int64_t sums = rows * num_groups(),
                     summed = ops_.shard().sequence_parallel ? ops_.shard().local_rows(sums) : 0;
  return storage_bytes(statistics_dtype(dtype_), sums + summed);
}

void QkNormLayer::forward(const Context& context, std::span<const Tensor> weights, const Tensor& qkv_RE,
                          const Saved& saved) const {
  const kernels::Columns q{qkv_RE, q_.first_column}, k{qkv_RE, k_.first_column};
  const Tensor q_rstd = of_queries(saved.rstd), k_rstd = of_keys(saved.rstd);
  if (crosses_ranks()) {
    kernels::head_norm_squares(context, q_.norm, q, q_rstd);
    kernels::head_norm_squares(context, k_.norm, k, k_rstd);
    sum_over_ranks(context, saved.rstd);
  }
  const Tensor own_sums;
  kernels::head_norm(context, q_.norm, weights[0], crosses_ranks() ? q_rstd : own_sums, q, saved.q_RQ,
                     q_rstd);
  kernels::head_norm(context, k_.norm, weights[1], crosses_ranks() ? k_rstd : own_sums, k, saved.k_RK,
                     k_rstd);
}

void QkNormLayer::backward_input(const Context& context, std::span<const Tensor> weights,
                                 const Tensor& dqkv_RE, const Saved& saved) const {
  const kernels::Columns dq{dqkv_RE, q_.first_column}, dk{dqkv_RE, k_.first_column};
  const Arena::Scope scope(context.scratch());
  Tensor q_products, k_products;
  if (crosses_ranks()) {
    const Tensor products = context.scratch().allocate(saved.rstd.dtype(), saved.rstd.shape());
    q_products = of_queries(products);
    k_products = of_keys(products);
    kernels::head_norm_products(context, q_.norm, weights[0], dq, saved.q_RQ, q_products);
    kernels::head_norm_products(context, k_.norm, weights[1], dk, saved.k_RK, k_products);
    sum_over_ranks(context, products);
  }
  kernels::zero(context, saved.dweights);
  kernels::head_norm_backward(context, q_.norm, weights[0], q_products, dq, saved.q_RQ,
                              of_queries(saved.rstd), saved.dweights.flat(0, q_.norm.width));
  kernels::head_norm_backward(context, k_.norm, weights[1], k_products, dk, saved.k_RK, of_keys(saved.rstd),
                              saved.dweights.flat(q_.norm.width, k_.norm.width));
}

void QkNormLayer::backward_weight(const Context& context, std::span<const Tensor> grads,
                                  const Saved& saved) const {
  kernels::accumulate(context, saved.dweights.flat(0, q_.norm.width), grads[0]);
  kernels::accumulate(context, saved.dweights.flat(q_.norm.width, k_.norm.width), grads[1]);
}

Tensor QkNormLayer::of_queries(const Tensor& values) const {
  const std::int64_t rows = values.numel() / num_groups();
  return values.flat(0, rows * q_.norm.groups).reshaped({rows, q_.norm.groups});
}

Tensor QkNormLayer::of_keys(const Tensor& values) const {
  const std::int64_t rows = values.numel() / num_groups();
  return values.flat(rows * q_.norm.groups, rows * k_.norm.groups).reshaped({rows, k_.norm.groups});
}

/// If ranks divide rows, a sum reaches each for its part alone. The order of values does not matter then, as
/// the parts are gathered again.
void QkNormLayer::sum_over_ranks(const Context& context, const Tensor& values) const {
  if (!ops_.shard().sequence_parallel) return wait(context, ops_.start_reduce(values, values));
  const Arena::Scope scope(context.scratch());
  const Tensor part = context.scratch().allocate(values.dtype(), {ops_.shard().local_rows(values.numel())});
  wait(context, ops_.start_reduce(values, part));
  wait(context, ops_.start_all_gather_rows(part, values));
}

}  // namespace dt::model
