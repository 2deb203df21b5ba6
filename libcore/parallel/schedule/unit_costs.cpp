#include "parallel/schedule/unit_costs.hpp"

#include "model/flops.hpp"

namespace dt::parallel {

std::vector<UnitCost> unit_costs(const model::ModelSpec& spec, std::int64_t sequence_length, bool recompute) {
  const std::vector<model::UnitFlops> flops = model::unit_flops_per_token(spec, sequence_length);
  std::vector<UnitCost> costs;
  for (const model::UnitFlops& unit : flops) {
    const double again = recompute ? unit.forward : 0;
    costs.push_back({unit.forward, unit.backward_input + again, unit.backward_weight});
  }
  costs.front() = {.backward_weight = static_cast<double>(spec.hidden)};
  costs.back() = {.forward = flops.back().sum()};
  return costs;
}

}  // namespace dt::parallel
