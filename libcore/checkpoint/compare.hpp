#pragma once
// How two checkpoints differ, tensor by tensor, streaming: memory is bounded by a block of each.

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
  double max_abs = 0;        // of a − b; NaN where a difference is
  double relative_norm = 0;  // ‖a − b‖ ÷ ‖a‖; infinite where only a is zero
};

/// Compares every tensor of either checkpoint, in a's order, then those that only b holds. Equal means equal
/// in every bit; the layouts may differ. Tensors of unlike types are compared as f64 and count as other_dtype
/// even where their values agree. `found` is told each tensor, `done` the bytes read (in all, stored_bytes of
/// both). Errors: input, where either is damaged or lacks a part.
void compare(const Reader& a, const Reader& b, const std::function<void(const TensorComparison&)>& found,
             const std::function<void(std::uint64_t)>& done = {});

/// The bytes of all pieces.
std::uint64_t stored_bytes(const Manifest& manifest);

}  // namespace dt::checkpoint
