#pragma once
// Initial weights: a pure function of (seed, parameter name, global element index), whatever the layout.

#include <cstdint>

#include "model/parameter_table.hpp"
#include "tensor/piece.hpp"
#include "tensor/tensor.hpp"

namespace dt::model {

/// Fills `values` (piece.numel() elements, f32 or f64) with the part of the parameter that `piece` names.
/// An f64 value is the f32 value, so that both precisions start from the same weights.
void initialise(const ParamSpec& param, std::uint64_t seed, const Piece& piece, const Tensor& values,
                int threads);

}  // namespace dt::model
