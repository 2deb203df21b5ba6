#include "parallel/schedule/step_observer.hpp"

#include <cmath>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"

namespace dt::parallel {

void UnitTimes::add(const Action& action, double seconds) {
  if (action.kind > ActionKind::backward_weight) return;
  DT_CHECK(action.unit >= 0 && action.unit < num_units(), "no time of unit {}", action.unit);
  const std::size_t i = 6 * to_index(action.unit) + 2 * static_cast<std::size_t>(action.kind);
  sums_[i] += std::llround(seconds * 1e9);
  sums_[i + 1] += 1;
}

std::optional<UnitCost> UnitTimes::mean(int unit) const {
  const std::span<const std::int64_t> own = std::span(sums_).subspan(6 * to_index(unit), 6);
  if (own[1] == 0 || own[3] == 0 || own[5] == 0) return std::nullopt;
  const auto seconds = [&](std::size_t i) {
    return static_cast<double>(own[i]) / static_cast<double>(own[i + 1]) * 1e-9;
  };
  return UnitCost{seconds(0), seconds(2), seconds(4)};
}

}  // namespace dt::parallel
