#pragma once
// The normalisation before attention, before the MLP and before the head.
// Legend: R rows, C hidden.

#include <span>

#include "model/model_spec.hpp"
#include "model/saved_memory.hpp"
#include "tensor/context.hpp"

namespace dt::model {

/// Parameters: weight_C and, for layer norm, bias_C. It works in fp32 or fp64, whatever `dtype` its tensors
/// have.
class NormLayer {
 public:
  /// The parameters' gradients are sums over rows: backward_input makes them while it has what they need, so
  /// that neither x nor dy need live until backward_weight.
  struct Saved {
    Tensor mean_R;  // layer norm only
    Tensor rstd_R;
    Tensor dweight_C;
    Tensor dbias_C;  // layer norm only
  };

  NormLayer(const ModelSpec& spec, DType dtype);
  std::size_t num_params() const { return kind_ == Norm::layer_norm ? 2 : 1; }
  Saved saved(SavedMemory& memory, std::int64_t rows) const;

  void forward(const Context& context, std::span<const Tensor> weights, const Tensor& x_RC,
               const Tensor& y_RC, const Saved& saved) const;
  /// dx = dresidual (where present) + the gradient with respect to x; it may alias dresidual, dy or x.
  void backward_input(const Context& context, std::span<const Tensor> weights, const Tensor& x_RC,
                      const Tensor& dy_RC, const Tensor& dresidual_RC, const Tensor& dx_RC,
                      const Saved& saved) const;
  void backward_weight(const Context& context, std::span<const Tensor> grads, const Saved& saved) const;

 private:
  Norm kind_;
  double eps_;
  std::int64_t features_;
  DType dtype_;
};

}  // namespace dt::model
