#include "train/start/state_change.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/io/json.hpp"

namespace dt::train {

namespace {

/// Returns the decay of the average of the weights, or 0 if there is none.
double ema_of(const checkpoint::StoredOptimizer& optimizer) {
  const auto parameters = JsonValue::parse_if_object(optimizer.hyper_parameters);
  return parameters && parameters->has(ema_parameter) ? parameters->number(ema_parameter, 0, 1) : 0;
}

}  // namespace

std::vector<std::string> describe_state_changes(const checkpoint::TrainingState& then,
                                                const plan::Plan& now) {
  const DType masters_then = then.precision == precision_name(DType::f64) ? DType::f64 : DType::f32;
  std::vector<std::string> changes;
  for (const optim::StateKind& kind : optim::state_kinds(now.optimizer)) {
    const auto before = std::ranges::find(then.optimizer.state_kinds, kind.name, &optim::StateKind::name);
    if (before == then.optimizer.state_kinds.end() || before->dtype == kind.dtype) continue;
    changes.push_back(fmt::format("{} is converted from {} to {}", kind.name,
                                  precision_name(before->dtype_beside(masters_then)),
                                  precision_name(kind.dtype_beside(now.precision.master()))));
  }
  const bool had_average = then.optimizer.has_kind(kernels::average_kind);
  const double decay = ema_of(then.optimizer);
  if (now.ema > 0 && !had_average)
    changes.push_back(fmt::format("the average of the weights (--ema {}) begins with the weights of step {}",
                                  now.ema, then.step));
  if (now.ema == 0 && had_average)
    changes.push_back(fmt::format("the average of the weights (--ema {}) is dropped", decay));
  if (now.ema > 0 && had_average && now.ema != decay)
    changes.push_back(
        fmt::format("the decay of the average of the weights was {} and is now {}", decay, now.ema));
  return changes;
}

std::string describe_mup_change(const std::string& conditions, const plan::Plan& now) {
  const auto then = JsonValue::parse_if_object(conditions);
  const auto size_then = [&](const char* name) {
    return then && then->has(name) ? then->integer(name, 0, INT64_MAX) : 0;
  };
  const auto text = [](std::int64_t width, std::int64_t head_dim) {
    if (width == 0) return std::string("no --mup-base-width");
    return fmt::format("--mup-base-width {} and heads of {}", width, head_dim);
  };
  const plan::Mup& mup = now.parameter_settings.mup;
  const std::int64_t width = size_then("mup_base_width"), head_dim = size_then("mup_base_head_dim");
  if (width == mup.base_width() && head_dim == mup.base_head_dim()) return {};
  return fmt::format("the weights began with {}, and this start has {}: the best learning rate may differ",
                     text(width, head_dim), text(mup.base_width(), mup.base_head_dim()));
}

}  // namespace dt::train
