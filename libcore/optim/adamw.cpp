#include "optim/adamw.hpp"

#include <array>

namespace dt::optim {

void append_range(std::vector<ParameterRange>& segments, const ParameterRange& parameter) {
  const ParameterRange* const last = segments.empty() ? nullptr : &segments.back();
  if (last && last->offset + last->numel == parameter.offset && last->decays == parameter.decays)
    segments.back().numel += parameter.numel;
  else
    segments.push_back(parameter);
}

void adamw(const Context& context, const AdamWSettings& settings, double lr, std::int64_t step,
           double grad_scale, std::span<const ParameterRange> segments, const Tensor& weights,
           const Tensor& gradient, const Tensor& first_moment, const Tensor& second_moment,
           const Tensor& copy) {
  for (const ParameterRange& s : segments) {
    const kernels::OptimizerStep update{
        .settings = {.weight_decay = s.decays ? settings.weight_decay : 0.0,
                     .beta1 = settings.beta1,
                     .beta2 = settings.beta2,
                     .eps = settings.eps},
        .lr = lr,
        .step = step,
        .grad_scale = grad_scale};
    const auto part = [&](const Tensor& flat) { return flat.flat(s.offset, s.numel); };
    kernels::optimizer_step(context, update, part(weights), part(gradient),
                            std::array{part(first_moment), part(second_moment)},
                            copy ? part(copy) : Tensor());
  }
}

}  // namespace dt::optim
