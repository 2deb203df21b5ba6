#pragma once
// The surroundings of a layer in a block: norms on its input and its output, and the residual stream.
// Legend: R rows, L this rank's rows where tensors are not split by features (see
// TensorParallelOps), C hidden.

#include <functional>
#include <span>

#include "model/layers/bump_allocator.hpp"
#include "model/layers/norm_layer.hpp"
#include "model/model_spec.hpp"
#include "tensor/context.hpp"

namespace dt::model {

/// A branch adds scale · norm(layer(norm(x))) to the residual stream. Either norm may be absent.
struct BranchForm {
  bool normalises_input = true;
  bool normalises_output = false;
  double scale = 1;
};
/// Return the forms of a model's branches. With a shared norm, attention's branch has it, and the input
/// of the feed-forward branch is that norm's output.
BranchForm attention_branch_form(const ModelSpec& spec);
BranchForm feed_forward_branch_form(const ModelSpec& spec);

/// Parameters: the input norm's, the layer's, the output norm's.
class ResidualBranch {
 public:
  struct Params {  // views of the weights or of the gradients
    std::span<const Tensor> input_norm, layer, output_norm;
  };
  struct Saved {
    Tensor in_LC;  // the layer's input: x, or the output of the norm
    NormLayer::Saved input_norm;
    /// The layer's output, if it is normalized. The backward replaces it by its gradient. The gradient of
    /// an output that is only scaled lies here, too, in the backward handoff.
    Tensor out_LC;
    NormLayer::Saved output_norm;
    Tensor dout_RC;  // gradient of the layer's output for all rows, in the backward
  };
  /// Computes y = residual + the layer's output. Either may be absent, as for FeedForward::forward.
  using Layer = std::function<void(const Tensor& residual_LC, const Tensor& y_LC)>;

  ResidualBranch(const ModelSpec& spec, BranchForm form, DType dtype);
  const BranchForm& form() const { return form_; }
  /// Divides the branch's parameters.
  Params params(std::span<const Tensor> tensors) const;
  std::size_t num_norm_params() const;
  /// Lays out the saved tensors. The input norm's output comes from `recomputed`, and is absent without a
  /// norm.
  Saved saved(BumpAllocator& memory, BumpAllocator& recomputed, std::int64_t local_rows) const;
  void add_backward_handoff(BumpAllocator& backward_handoff, std::int64_t local_rows, Saved& saved) const;

  /// Computes the layer's input from x. Does nothing without a norm.
  void normalise_input(const Context& context, const Params& weights, const Tensor& x_LC,
                       const Saved& saved) const;
  /// Computes y = residual + the branch, given the layer's input. If y is absent, computes only `saved`.
  /// y may not alias the residual. Takes scratch memory of y's size if y is absent and the output is
  /// normalized.
  void forward(const Context& context, const Params& weights, const Tensor& residual_LC, const Tensor& y_LC,
               const Saved& saved, const Layer& layer) const;
  /// Returns the gradient of the layer's output: dy, or saved.out_LC. Overwrites `temporary`.
  Tensor output_gradient(const Context& context, const Params& weights, const Tensor& dy_LC,
                         const Tensor& temporary_LC, const Saved& saved) const;
  /// Computes dx = dresidual + the gradient of x, given that of the layer's input. dresidual may be
  /// absent, and dx may alias any of the others.
  void input_gradient(const Context& context, const Params& weights, const Tensor& x_LC, const Tensor& din_LC,
                      const Tensor& dresidual_LC, const Tensor& dx_LC, const Saved& saved) const;
  /// Adds the gradients of the norms' parameters.
  void backward_weight(const Context& context, const Params& grads, const Saved& saved) const;

 private:
  bool scales() const { return form_.scale != 1; }

  BranchForm form_;
  std::int64_t hidden_;
  DType dtype_;
  NormLayer norm_;
};

}  // namespace dt::model
