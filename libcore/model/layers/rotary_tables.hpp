#pragma once
// The cosines and sines of rotary positions.

#include <optional>

#include "kernels/rotary.hpp"
#include "model/model_spec.hpp"
#include "tensor/buffer.hpp"

namespace dt::model {

/// The tables by which layers of the same frequencies turn queries and keys. Without them a layer does not
/// rotate.
class RotaryTables {
 public:
  /// Makes no tables for a layer, or a model, without rotary positions.
  RotaryTables(Device device, const ModelSpec& spec, const AttentionSpec& attention, DType statistics);

  /// Returns the rotation of sequences of that length, which the whole sequences of training have, or
  /// null.
  const kernels::Rotation* of_sequences(std::int64_t length) const;

 private:
  /// Tables for positions below `positions`.
  struct Tables {
    Tables(Device device, const ModelSpec& spec, const kernels::RotaryFrequencies& frequencies,
           std::int64_t positions, DType statistics);
    Buffer memory;
    kernels::Rotation rotation;
  };
  /// The longest sequences of `short_`. Only longrope has other tables for longer ones.
  std::int64_t original_positions_ = 0;
  std::optional<Tables> short_, long_;
};

/// Returns whether layers of both kinds turn queries and keys by the same tables.
bool same_rotation(const AttentionSpec& a, const AttentionSpec& b);

}  // namespace dt::model
