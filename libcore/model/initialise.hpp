#pragma once
// Initial weights. They depend only on seed, parameter name and global element index, and so are
// the same in any layout.

#include <cstdint>

#include "model/parameter_table.hpp"
#include "tensor/piece.hpp"
#include "tensor/tensor.hpp"

namespace dt::model {

/// Fills `values` (piece.numel() elements, f32 or f64) with the elements of the parameter that
/// `piece` names, multiplied by `factor`.
/// Numerics: an f64 value equals the f32 value, so that both precisions start from the same
/// weights.
void initialise(const ParamSpec& param, std::uint64_t seed, const Piece& piece, const Tensor& values,
                int threads, double factor = 1);

}  // namespace dt::model
