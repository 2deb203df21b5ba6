#pragma once
// The element types in which a run keeps weights, gradients and the optimizer's state.

#include "base/numeric/dtype.hpp"

namespace dt::parallel {

/// The element types of a run. Mixed precision keeps fp32 masters of 16-bit weights, as updates are
/// often smaller than what 16 bits can add. Otherwise weights are their own masters.
/// Source: Micikevicius et al. 2018, section 3.1.
struct Precision {
  DType compute = DType::f32;   // weights as units see them, and activations
  DType gradient = DType::f32;  // gradients of weights, as they are summed
  DType reduce =
      DType::f32;  // narrow: gradients travel between ranks in 16 bits, whatever they are summed in
  DType wire() const { return is_narrow_float(reduce) ? reduce : gradient; }
  /// Returns the type of the values that the optimizer updates and checkpoints hold, and of the
  /// optimizer's state.
  DType master() const { return compute == DType::f64 ? DType::f64 : DType::f32; }
  bool has_masters() const { return compute != master(); }
  bool operator==(const Precision&) const = default;
};

}  // namespace dt::parallel
