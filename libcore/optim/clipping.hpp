#pragma once
// Clipping by the global norm (Pascanu et al. 2013, algorithm 1).

namespace dt::optim {

/// What gradients are to be multiplied with so that their norm is at most `clip_norm`; 0 means no clipping.
inline double clip_scale(double norm, double clip_norm) {
  return clip_norm > 0 && norm > clip_norm ? clip_norm / norm : 1.0;
}

}  // namespace dt::optim
