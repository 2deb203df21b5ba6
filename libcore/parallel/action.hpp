#pragma once
// What one rank does in a step, as data. Builders emit such lists, the validator proves them, the executor
// runs them.

#include <string>
#include <vector>

namespace dt::parallel {

enum class ActionKind {
  forward,          // of a unit, on a micro-batch
  backward_input,   // gradient with respect to the unit's input
  backward_weight,  // gradient with respect to its weights, added to the micro-batch's lane
  discard,          // what the forward saved for the backward
  recompute,        // what was discarded, by the unit's forward from its input
  gather,           // the unit's weights, of which each rank holds a part, are brought together
  free,             // the unit's gathered weights are not needed for now
  reduce,           // the sum of the unit's gradients over the ranks: of the step, or of a micro-batch
  control,          // the decision point: what all ranks must agree on before the optimizer
  step,             // the optimizer
};

struct Action {
  ActionKind kind;
  int unit = -1;         // of all but control and step
  int micro_batch = -1;  // of all that compute, and of what is reduced of one micro-batch
  bool operator==(const Action&) const = default;
};

using ActionList = std::vector<Action>;

/// "backward_input"
const char* action_name(ActionKind kind);
/// "forward(unit 3, micro-batch 0)"
std::string to_string(const Action& action);

}  // namespace dt::parallel
