#include "parallel/schedule/stages.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"
#include "model/flops.hpp"

namespace dt::parallel {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// The best way to lay out all units: the one with the least `join(best of the stages before, cost of
/// one)`.
struct Laid {
  double value = infinite;
  Stages stages;
};

template <class Join>
Laid least(std::span<const double> until, int num_stages, const Join& join) {
  const int units = static_cast<int>(until.size()) - 1;
  std::vector<std::vector<double>> best(to_index(num_stages) + 1,
                                        std::vector<double>(to_index(units) + 1, infinite));
  std::vector<std::vector<int>> begin(to_index(num_stages) + 1, std::vector<int>(to_index(units) + 1));
  best[0][0] = 0;
  for (int stage = 1; stage <= num_stages; ++stage) {
    for (int end = stage; end <= units; ++end) {
      for (int first = stage - 1; first < end; ++first) {
        const double value =
            join(best[to_index(stage - 1)][to_index(first)], until[to_index(end)] - until[to_index(first)]);
        if (value >= best[to_index(stage)][to_index(end)]) continue;
        best[to_index(stage)][to_index(end)] = value;
        begin[to_index(stage)][to_index(end)] = first;
      }
    }
  }
  Laid laid{best[to_index(num_stages)][to_index(units)], {{units}}};
  for (int stage = num_stages, end = units; stage > 0; --stage)
    laid.stages.begins.insert(laid.stages.begins.begin(), end = begin[to_index(stage)][to_index(end)]);
  return laid;
}

}  // namespace

int Stages::stage_of(int unit) const {
  DT_CHECK(unit >= 0 && unit < num_units(), "unit {} does not exist", unit);
  return static_cast<int>(std::upper_bound(begins.begin(), begins.end(), unit) - begins.begin()) - 1;
}

Stages stages_from_counts(std::span<const int> counts, int num_units) {
  Stages stages{{0}};
  for (const int count : counts) {
    if (count < 1) throw usage_error("a stage has {} units; each stage needs at least 1", count);
    stages.begins.push_back(stages.num_units() + count);
  }
  if (stages.num_units() != num_units)
    throw usage_error("the stages have {} units in total; the model has {}", stages.num_units(), num_units);
  return stages;
}

Stages balance_stages(std::span<const UnitCost> costs, int num_stages) {
  const auto units = static_cast<int>(costs.size());
  if (num_stages < 1 || num_stages > units)
    throw usage_error("{} units cannot be divided into {} stages; each stage needs at least 1", units,
                      num_stages);
  std::vector<double> until{0};
  for (const UnitCost& cost : costs) until.push_back(until.back() + cost.sum());
  const double slowest =
      least(until, num_stages, [](double before, double one) { return std::max(before, one); }).value;
  const double limit = slowest * (1 + 1e-12);  // allows for the same sums in another order
  return least(until, num_stages,
               [&](double before, double one) { return one > limit ? infinite : before + one * one; })
      .stages;
}

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
