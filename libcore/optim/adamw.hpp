#pragma once
// AdamW over flat buffers of many parameters.

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/optimizer_step.hpp"

namespace dt::optim {

struct AdamWSettings {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;
};

/// A range of parameters in a flat buffer.
/// Units: elements.
struct ParameterRange {
  std::int64_t offset;
  std::int64_t numel;
  bool decays;
};

/// Appends a parameter. It joins the last segment if it lies directly behind that segment and
/// decays alike, so that one pass serves both.
void append_range(std::vector<ParameterRange>& segments, const ParameterRange& parameter);

/// Makes one update of every segment, with weight decay if the segment decays. `copy`, if present,
/// receives the new weights rounded to its dtype. Padding between segments does not change.
void adamw(const Context& context, const AdamWSettings& settings, double lr, std::int64_t step,
           double grad_scale, std::span<const ParameterRange> segments, const Tensor& weights,
           const Tensor& gradient, const Tensor& first_moment, const Tensor& second_moment,
           const Tensor& copy = {});

}  // namespace dt::optim
