#pragma once
// Lays units out on virtual stages: a table of contiguous ranges, which may be uneven. Counts what each
// unit costs, by which stages are balanced.

#include <cstdint>
#include <span>
#include <vector>

#include "model/model_spec.hpp"

namespace dt::parallel {

struct Stages {
  std::vector<int> begins;  // each stage's first unit, then the number of units

  int num_stages() const { return static_cast<int>(begins.size()) - 1; }
  int num_units() const { return begins.back(); }
  int begin(int stage) const { return begins[static_cast<std::size_t>(stage)]; }
  int end(int stage) const { return begins[static_cast<std::size_t>(stage) + 1]; }
  int stage_of(int unit) const;
  bool operator==(const Stages&) const = default;
};

/// Returns the stages that hold so many units each.
/// Errors: usage, a stage holds none, or the counts do not add up.
Stages stages_from_counts(std::span<const int> counts, int num_units);

/// The cost of a unit's computations for a micro-batch.
/// Units: any unit of time, the same for all.
struct UnitCost {
  double forward = 0;  // the head's includes its gradients, which its forward makes
  double backward_input = 0;
  double backward_weight = 0;

  double sum() const { return forward + backward_input + backward_weight; }
};

/// Lays units out on `num_stages` stages so that the slowest stage, which sets the pace, is as fast
/// as can be. Of all such layouts, it takes the one whose stages are most equal (least sum of
/// squares). Every stage holds a unit. Dynamic programming, num_stages × units².
/// Errors: usage, there are fewer units than stages.
Stages balance_stages(std::span<const UnitCost> costs, int num_stages);

/// Returns the costs of each unit, good enough to lay units out on stages before any has run. The head's
/// forward has all three of its products, as the head makes its gradients there. With `recompute` a block's
/// backward_input includes its forward again. The embedding counts the additions of its gradient, one for
/// each element. That is almost nothing, but keeps a stage of the embedding alone from being free.
/// Units: FLOPs a token.
std::vector<UnitCost> unit_costs(const model::ModelSpec& spec, std::int64_t sequence_length, bool recompute);

}  // namespace dt::parallel
