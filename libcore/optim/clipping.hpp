#pragma once
// Clipping by the global norm.
// Source: Pascanu et al. 2013, algorithm 1.

namespace dt::optim {

/// Returns the factor for gradients that makes their norm at most `clip_norm`. With a `clip_norm` of 0,
/// nothing is clipped.
inline double clip_scale(double norm, double clip_norm) {
  return clip_norm > 0 && norm > clip_norm ? clip_norm / norm : 1.0;
}

}  // namespace dt::optim
