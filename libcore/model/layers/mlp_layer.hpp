#pragma once
// A feed-forward layer of an up and a down projection, gated or not.
// Legend: R rows, L this rank's rows where tensors are not split by features (see TensorParallelOps), C
// hidden, F MLP features of this rank, G = 2F for a gated MLP, else F.

#include "kernels/activation.hpp"
#include "model/layers/feed_forward.hpp"

namespace dt::model {

/// A gate, an up and a down projection: down(gelu(gate) · up), with gelu by tanh.
const FeedForwardKind& geglu_mlp();
/// An up and a down projection, with gelu by the error function between them.
const FeedForwardKind& gelu_erf_mlp();
/// An up and a down projection, with the square of the positive part between them.
const FeedForwardKind& relu2_mlp();

/// The function between the projections.
struct MlpActivation {
  kernels::Activation function;
  bool gated;  // its input is a gate half, to which the function applies, and an up half

  void forward(const Context& context, const Tensor& x_RG, const Tensor& y_RF) const;
  void backward(const Context& context, const Tensor& dy_RF, const Tensor& x_RG, const Tensor& dx_RG) const;
};

/// Parameters: gate weight (gated only), up weight, their biases if the model has them, down
/// weight, down bias if the model has it.
class MlpLayer final : public FeedForward {
 public:
  /// The saved tensors: G elements a token for `up`, which backward_input replaces by its gradient,
  /// and F elements for `hidden`, which recompute() makes from `up`.
  enum SavedIndex : std::size_t { up_RG, hidden_RF };

  /// Returns how many of `rows` rows of the gradient of `hidden` are computed at a time. On the
  /// host they are few enough to stay in cache until their use. On a GPU, whose products need many
  /// rows, they are all rows.
  static std::int64_t backward_rows(Device device, std::int64_t rows);

  MlpLayer(MlpActivation activation, const ModelSpec& shard, DType dtype, const TensorParallelOps& ops);
  std::size_t num_params() const override { return (bias_ ? 2 : 1) * (activation_.gated ? 3 : 2); }
  Saved saved(BumpAllocator& memory, BumpAllocator& recomputed, std::int64_t rows) const override;
  std::size_t scratch_bytes(Device device, std::int64_t rows) const override;
  void forward(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
               const Tensor& x_LC, const Tensor& residual_LC, const Tensor& y_LC,
               const Saved& saved) const override;
  void recompute(const Context& context, std::span<const Tensor> weights, const Saved& saved) const override;
  void backward_input(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
                      AsyncAllGather& dy_RC, const Tensor& dx_LC, const Saved& saved,
                      const OverlappedWork& overlapped_work) const override;
  void backward_output_weight(const Context& context, std::span<const Tensor> grads, const Tensor& dy_RC,
                              const Saved& saved) const override;
  void backward_input_weight(const Context& context, std::span<const Tensor> grads, const Tensor& x_RC,
                             const Saved& saved) const override;

 private:
  struct Params {  // views of the weights or of the gradients
    Tensor up_weight_GC, up_bias_G, down_weight_CF, down_bias_C;
  };
  Params params(std::span<const Tensor> tensors) const;

  MlpActivation activation_;
  bool bias_;
  std::int64_t features_;  // F
  DType dtype_;
  const TensorParallelOps& ops_;
};

}  // namespace dt::model
