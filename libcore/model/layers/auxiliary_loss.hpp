#pragma once
// Losses that units add to the loss of tokens.

#include <string>

namespace dt::model {

/// A loss of a unit, such as the balance of a router. A step minimizes
///   Σ nll ÷ the step's targets + Σ over auxiliary losses of coefficient · Σ terms ÷ the step's tokens.
/// Terms belong to rows. The unit writes them in its forward (MicroBatch::auxiliary_AR), and its own
/// backward adds their gradients, each times `coefficient` and MicroBatch::auxiliary_scale. A loss of
/// targets alone is divided by the step's targets instead; its gradients have the factor
/// MicroBatch::loss_scale. Losses of one name in several units are one loss, with one coefficient.
struct AuxiliaryLoss {
  std::string name;  // its key in reports
  double coefficient = 1;
  bool is_of_targets = false;  // rows without a target have no term

  bool operator==(const AuxiliaryLoss&) const = default;
};

}  // namespace dt::model
