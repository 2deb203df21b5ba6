#include "model/norm_layer.hpp"

#include "kernels/elementwise.hpp"
#include "kernels/norm.hpp"

namespace dt::model {

NormLayer::NormLayer(const ModelSpec& spec, DType dtype)
    : kind_(spec.norm), eps_(spec.norm_eps), features_(spec.hidden), dtype_(dtype) {}

NormLayer::Saved NormLayer::saved(SavedMemory& memory, std::int64_t rows) const {
  Saved s;
  s.rstd_R = memory.take(dtype_, {rows});
  s.dweight_C = memory.take(dtype_, {features_});
  if (kind_ == Norm::layer_norm) {
    s.mean_R = memory.take(dtype_, {rows});
    s.dbias_C = memory.take(dtype_, {features_});
  }
  return s;
}

void NormLayer::forward(const Context& context, std::span<const Tensor> weights, const Tensor& x_RC,
                        const Tensor& y_RC, const Saved& saved) const {
  if (kind_ == Norm::layer_norm)
    kernels::layer_norm(context, x_RC, weights[0], weights[1], eps_, y_RC, saved.mean_R, saved.rstd_R);
  else
    kernels::rms_norm(context, x_RC, weights[0], eps_, y_RC, saved.rstd_R);
}

void NormLayer::backward_input(const Context& context, std::span<const Tensor> weights, const Tensor& x_RC,
                               const Tensor& dy_RC, const Tensor& dresidual_RC, const Tensor& dx_RC,
                               const Saved& saved) const {
  kernels::zero(context, saved.dweight_C);
  if (kind_ == Norm::layer_norm) {
    kernels::zero(context, saved.dbias_C);
    kernels::layer_norm_backward(context, dy_RC, x_RC, weights[0], saved.mean_R, saved.rstd_R, dresidual_RC,
                                 dx_RC, saved.dweight_C, saved.dbias_C);
  } else {
    kernels::rms_norm_backward(context, dy_RC, x_RC, weights[0], saved.rstd_R, dresidual_RC, dx_RC,
                               saved.dweight_C);
  }
}

void NormLayer::backward_weight(const Context& context, std::span<const Tensor> grads,
                                const Saved& saved) const {
  kernels::add(context, grads[0], saved.dweight_C, grads[0]);
  if (kind_ == Norm::layer_norm) kernels::add(context, grads[1], saved.dbias_C, grads[1]);
}

}  // namespace dt::model
