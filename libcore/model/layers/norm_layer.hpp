#pragma once
// The normalization of rows: on the input or output of a block's layers, and before the head.
// Legend: R rows, C hidden, P parameters.

#include <span>

#include "model/layers/bump_allocator.hpp"
#include "model/model_spec.hpp"
#include "tensor/context.hpp"

namespace dt::model {

/// Parameters: weight_C and, for layer norm with biases, bias_C. Saved tensors have the dtype
/// statistics_dtype().
class NormLayer {
 public:
  /// The parameters' gradients are sums over rows. backward_input computes them while x and dy
  /// exist, so that neither needs to live until backward_weight.
  struct Saved {
    Tensor mean_R;  // layer norm only
    Tensor rstd_R;
    Tensor dparams_PC;  // gradient of each parameter
  };

  NormLayer(const ModelSpec& spec, DType statistics);
  std::size_t num_params() const { return has_bias_ ? 2 : 1; }
  Saved saved(BumpAllocator& memory, std::int64_t rows) const;

  void forward(const Context& context, std::span<const Tensor> weights, const Tensor& x_RC,
               const Tensor& y_RC, const Saved& saved) const;
  /// Computes dx = dresidual + the gradient with respect to x. dresidual may be absent, and dx may
  /// alias it.
  void backward_input(const Context& context, std::span<const Tensor> weights, const Tensor& x_RC,
                      const Tensor& dy_RC, const Tensor& dresidual_RC, const Tensor& dx_RC,
                      const Saved& saved) const;
  void backward_weight(const Context& context, std::span<const Tensor> grads, const Saved& saved) const;

 private:
  Norm kind_;
  bool has_bias_;
  bool plus_one_;  // multiplies by 1 + weight
  double eps_;
  std::int64_t features_;
  DType statistics_;
};

}  // namespace dt::model
