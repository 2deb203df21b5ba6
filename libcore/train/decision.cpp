#include "train/decision.hpp"

#include <algorithm>
#include <cmath>

#include "optim/clipping.hpp"

namespace dt::train {

void StepReport::merge(const StepReport& other) {
  nll.merge(other.nll);
  squared_norm.merge(other.squared_norm);
  signal = std::max(signal, other.signal);
  output_failed = output_failed || other.output_failed;
}

Decision decide(const StepReport& combined, std::int64_t num_targets, double clip_norm) {
  Decision decision;
  decision.loss = combined.nll.value() / static_cast<double>(num_targets);
  decision.grad_norm = std::sqrt(combined.squared_norm.value());
  decision.finite = std::isfinite(decision.loss) && std::isfinite(decision.grad_norm);
  decision.grad_scale = optim::clip_scale(decision.grad_norm, clip_norm);
  decision.stop_signal = combined.signal;
  decision.stop = combined.signal != 0 || combined.output_failed;
  return decision;
}

}  // namespace dt::train
