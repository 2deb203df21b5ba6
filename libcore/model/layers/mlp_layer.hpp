#pragma once
// The feed-forward half of a block.
// Legend: R rows, L this rank's rows where tensors are not split by features (see TensorParallelOps), C
// hidden, F MLP features of this rank, G = 2F for a gated MLP, else F.

#include <span>

#include "model/layers/bump_allocator.hpp"
#include "model/model_spec.hpp"
#include "model/tensor_parallel/parallel_linear.hpp"
#include "model/tensor_parallel/tensor_parallel_ops.hpp"
#include "tensor/context.hpp"

namespace dt::model {

/// Parameters: gate weight (gated only), up weight, their biases if the model has them, down
/// weight, down bias if the model has it.
class MlpLayer {
 public:
  /// Takes G elements a token for `up`, and F elements for `hidden`, which activate() can recompute
  /// from `up`.
  struct Saved {
    Tensor up_RG;  // gate and up halves, or up alone; backward_input replaces it by its gradient
    Tensor hidden_RF;
  };

  /// Returns how many of `rows` rows of the gradient of `hidden` are computed at a time. On the
  /// host they are few enough to stay in cache until their use. On a GPU, whose products need many
  /// rows, they are all rows.
  static std::int64_t backward_rows(Device device, std::int64_t rows);

  /// `shard` is the model as this rank holds it. `ops` must outlive the layer.
  MlpLayer(const ModelSpec& shard, DType dtype, const TensorParallelOps& ops);
  std::size_t num_params() const { return (bias_ ? 2 : 1) * (gated() ? 3 : 2); }
  /// Lays out the saved tensors. `hidden` comes from its own memory.
  Saved saved(BumpAllocator& memory, BumpAllocator& hidden, std::int64_t rows) const;

  /// Computes y = residual + the layer's output. If y is absent, computes only `saved`. It uses the
  /// same products, since on a GPU a product of other rows may have other bits.
  void forward(const Context& context, std::span<const Tensor> weights, const Tensor& x_LC,
               const Tensor& residual_LC, const Tensor& y_LC, const Saved& saved) const;
  /// Computes `hidden` from `up`.
  void activate(const Context& context, const Saved& saved) const;
  /// Overwrites dx. Calls `overlapped_work` while the ranks' parts of dx are being summed.
  void backward_input(const Context& context, std::span<const Tensor> weights, AsyncAllGather& dy_RC,
                      const Tensor& dx_LC, const Saved& saved, const OverlappedWork& overlapped_work) const;
  /// The two halves of backward_weight. Call both after backward_input.
  void backward_down_weight(const Context& context, std::span<const Tensor> grads, const Tensor& dy_RC,
                            const Saved& saved) const;
  void backward_up_weight(const Context& context, std::span<const Tensor> grads, const Tensor& x_RC,
                          const Saved& saved) const;

 private:
  struct Params {  // views of the weights or of the gradients
    Tensor up_weight_GC, up_bias_G, down_weight_CF, down_bias_C;
  };
  Params params(std::span<const Tensor> tensors) const;
  bool gated() const { return kind_ == Mlp::swiglu; }

  Mlp kind_;
  bool bias_;
  std::int64_t features_;  // F
  DType dtype_;
  const TensorParallelOps& ops_;
};

}  // namespace dt::model
