#include "model/layers/norm_layer.hpp"

#include "kernels/elementwise.hpp"
#include "kernels/norm.hpp"

namespace dt::model {

NormLayer::NormLayer(const ModelSpec& spec, DType statistics)
    : kind_(spec.norm),
      has_bias_(kind_ == Norm::layer_norm && spec.norm_bias),
      plus_one_(spec.norm_weight_plus_one),
      eps_(spec.norm_eps),
      features_(spec.hidden),
      statistics_(statistics) {}

NormLayer::Saved NormLayer::saved(BumpAllocator& memory, std::int64_t rows) const {
  Saved s;
  s.rstd_R = memory.allocate(statistics_, {rows});
  s.dparams_PC = memory.allocate(statistics_, {static_cast<std::int64_t>(num_params()), features_});
  if (kind_ == Norm::layer_norm) s.mean_R = memory.allocate(statistics_, {rows});
  return s;
}

void NormLayer::forward(const Context& context, std::span<const Tensor> weights, const Tensor& x_RC,
                        const Tensor& y_RC, const Saved& saved) const {
  if (kind_ == Norm::layer_norm)
    kernels::layer_norm(context, x_RC, weights[0], has_bias_ ? weights[1] : Tensor(), eps_, y_RC,
                        saved.mean_R, saved.rstd_R, plus_one_);
  else
    kernels::rms_norm(context, x_RC, weights[0], eps_, y_RC, saved.rstd_R, plus_one_);
}

void NormLayer::backward_input(const Context& context, std::span<const Tensor> weights, const Tensor& x_RC,
                               const Tensor& dy_RC, const Tensor& dresidual_RC, const Tensor& dx_RC,
                               const Saved& saved) const {
  kernels::zero(context, saved.dparams_PC);
  const Tensor dweight_C = saved.dparams_PC.flat(0, features_);
  if (kind_ == Norm::layer_norm)
    kernels::layer_norm_backward(
        context, dy_RC, x_RC, weights[0], saved.mean_R, saved.rstd_R, dresidual_RC, dx_RC, dweight_C,
        has_bias_ ? saved.dparams_PC.flat(features_, features_) : Tensor(), plus_one_);
  else
    kernels::rms_norm_backward(context, dy_RC, x_RC, weights[0], saved.rstd_R, dresidual_RC, dx_RC, dweight_C,
                               plus_one_);
}

void NormLayer::backward_weight(const Context& context, std::span<const Tensor> grads,
                                const Saved& saved) const {
  for (std::size_t i = 0; i < grads.size(); ++i)
    kernels::accumulate(context, saved.dparams_PC.flat(static_cast<std::int64_t>(i) * features_, features_),
                        grads[i]);
}

}  // namespace dt::model
