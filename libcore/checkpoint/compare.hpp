#pragma once
// Differences of two checkpoints, tensor by tensor. Streams both; memory is bounded by a block of
// each.

#include <cstdint>
#include <functional>
#include <string>

#include "checkpoint/reader.hpp"

namespace dt::checkpoint {

struct TensorComparison {
  enum class Outcome { equal, differs, only_in_a, only_in_b, other_shape, other_dtype };
  std::string kind;
  std::string tensor;
  Outcome outcome = Outcome::equal;
  double max_abs = 0;        // largest |a − b|; NaN if any difference is NaN
  double relative_norm = 0;  // ‖a − b‖ ÷ ‖a‖; infinite if only a is zero
};

/// Compares every tensor of either checkpoint, in a's order, then those that only b holds. Equal
/// means equal in every bit; the layouts may differ. `found` receives each tensor. `done` receives
/// the bytes read, stored_bytes() of both in total.
/// Numerics: compares tensors of different types as f64. They count as other_dtype even if their
/// values agree.
/// Errors: input if either is damaged or lacks a part.
void compare(const Reader& a, const Reader& b, const std::function<void(const TensorComparison&)>& found,
             const std::function<void(std::uint64_t)>& done = {});

}  // namespace dt::checkpoint
