#pragma once
// The feed-forward half of a block.
// Legend: R rows, L those of them that are this rank's where nothing is cut (see Seam), C hidden, F MLP
// features of this rank, G = 2F for a gated MLP, else F.

#include <span>

#include "model/model_spec.hpp"
#include "model/parallel_linear.hpp"
#include "model/saved_memory.hpp"
#include "model/seam.hpp"
#include "tensor/context.hpp"

namespace dt::model {

/// Parameters: gate weight (gated only), up weight, their biases where the model has biases, down weight,
/// down bias likewise.
class MlpLayer {
 public:
  /// G elements a token, and F of `hidden`, which can be made again from the rest.
  struct Saved {
    Tensor up_RG;  // gate and up halves, or up alone; backward_input puts its gradient in its place
    Tensor hidden_RF;
  };

  /// Returns for how many of `rows` rows the gradient of `hidden` is made at a time: on the host so many that
  /// it is used while it lies in cache; on a GPU, whose products want many rows, all.
  static std::int64_t backward_rows(Device device, std::int64_t rows);

  /// `share` is the rank's part of the model. The seam must outlive the layer.
  MlpLayer(const ModelSpec& share, DType dtype, const Seam& seam);
  std::size_t num_params() const { return (bias_ ? 2 : 1) * (gated() ? 3 : 2); }
  /// `hidden` is taken from a memory of its own.
  Saved saved(SavedMemory& memory, SavedMemory& hidden, std::int64_t rows) const;

  /// y = residual + the layer's output; nothing but `saved` where y is absent.
  void forward(const Context& context, std::span<const Tensor> weights, const Tensor& x_LC,
               const Tensor& residual_LC, const Tensor& y_LC, const Saved& saved) const;
  /// Makes `hidden` again from `up`.
  void activate(const Context& context, const Saved& saved) const;
  /// Overwrites dx; `meanwhile` is done while that is added up.
  void backward_input(const Context& context, std::span<const Tensor> weights, ArrivingRows& dy_RC,
                      const Tensor& dx_LC, const Saved& saved, const Meanwhile& meanwhile) const;
  /// The two halves of backward_weight, both after backward_input.
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
  const Seam& seam_;
};

}  // namespace dt::model
