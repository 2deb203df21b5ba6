#include "train/start/state_change.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace dt::train {

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
  return changes;
}

}  // namespace dt::train
