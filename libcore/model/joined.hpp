#pragma once
// One tensor over parameters that lie beside each other.

#include <span>

#include "tensor/tensor.hpp"

namespace dt::model {

/// The parts stacked along their outermost dim, as a view: q, k and v, or gate and up.
/// Errors: internal, where a part does not begin at the end of the one before it.
Tensor joined(std::span<const Tensor> parts);

}  // namespace dt::model
