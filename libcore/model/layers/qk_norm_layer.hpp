#pragma once
// The normalization of queries and keys, between their projections and their rotation.
// Legend: R rows, E features of packed queries, keys and values, Q of a rank's queries, K of its keys, G
// groups that are normalized each on its own: heads, or all of a rank's.

#include <span>

#include "kernels/head_norm.hpp"
#include "model/layers/bump_allocator.hpp"
#include "model/model_spec.hpp"
#include "model/tensor_parallel/tensor_parallel_ops.hpp"
#include "tensor/context.hpp"

namespace dt::model {

/// Parameters: the weights of queries and of keys. Each is one head's, which all heads share, or all heads'.
/// In the latter case a row's mean is over the heads of all tensor-parallel ranks, which sum their squares
/// (QkNorm::full_width).
class QkNormLayer {
 public:
  /// Takes Q + K elements and two groups' statistics a token. The layer's output overwrites its input, and
  /// rotation overwrites that, so that the backward needs the input once more.
  struct Saved {
    Tensor q_RQ, k_RK;
    Tensor rstd;      // one value for each row and group of queries, [R, G], then for those of keys
    Tensor dweights;  // gradients of both weights, which backward_input computes
  };

  /// `shard` is the model as this rank holds it. `ops` must outlive this object.
  QkNormLayer(const ModelSpec& shard, DType dtype, const TensorParallelOps& ops);
  static constexpr std::size_t num_params() { return 2; }
  Saved saved(BumpAllocator& memory, std::int64_t rows) const;
  /// Returns the bytes of scratch memory of the backward's sums over ranks.
  std::size_t scratch_bytes(std::int64_t rows) const;

  /// Normalizes the queries and keys of packed rows.
  void forward(const Context& context, std::span<const Tensor> weights, const Tensor& qkv_RE,
               const Saved& saved) const;
  /// Replaces the gradients of the output by those of the input.
  void backward_input(const Context& context, std::span<const Tensor> weights, const Tensor& dqkv_RE,
                      const Saved& saved) const;
  void backward_weight(const Context& context, std::span<const Tensor> grads, const Saved& saved) const;

 private:
  /// Queries or keys: how they are normalized, and their first column in packed rows.
  struct Heads {
    kernels::HeadNorm norm;
    std::int64_t first_column;
  };
  Heads heads_of(const ModelSpec& shard, std::int64_t heads, std::int64_t first_column) const;
  bool crosses_ranks() const { return is_full_width_ && !ops_.shard().is_whole(); }
  std::int64_t num_groups() const { return q_.norm.groups + k_.norm.groups; }
  /// Return the parts of a tensor that has values for queries' and keys' groups of all rows, one after the
  /// other.
  Tensor of_queries(const Tensor& values) const;
  Tensor of_keys(const Tensor& values) const;
  /// Replaces values of all rows by their sums over the ranks.
  void sum_over_ranks(const Context& context, const Tensor& values) const;

  bool is_full_width_;
  DType dtype_;
  const TensorParallelOps& ops_;
  Heads q_, k_;
};

}  // namespace dt::model
