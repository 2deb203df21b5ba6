#pragma once
// One tensor over adjacent parameters.

#include <span>

#include "tensor/tensor.hpp"

namespace dt::model {

/// Returns a view of the parts stacked along their outermost dim: q, k and v, or gate and up.
/// Errors: internal if a part does not begin at the end of the previous part.
Tensor fused_view(std::span<const Tensor> parts);

}  // namespace dt::model
