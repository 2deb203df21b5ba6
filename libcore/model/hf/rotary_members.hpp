#pragma once
// The members of config.json that say how a model's rotary positions turn.

#include "model/hf/config.hpp"
#include "model/model_spec.hpp"

namespace dt::model::hf {

/// The settings of a family whose file leaves them out.
struct RotaryDefaults {
  double theta = 10000;
  double partial_factor = 1;
  bool may_be_partial = false;  // the family knows partial_rotary_factor
};

/// Reads θ, the part of a head that rotates, and scaling. They are at the top level (with scaling in
/// rope_scaling), or in rope_parameters in files of transformers 5. Settings that the file repeats
/// must agree. `spec` has the model's sizes.
/// Errors: input, also for scaling that changes with the length of a sequence (dynamic NTK).
kernels::RotaryFrequencies read_rotary(const Config& config, const ModelSpec& spec,
                                       const RotaryDefaults& defaults = {});
/// Writes what read_rotary() reads, for transformers 4 and 5.
void write_rotary(const kernels::RotaryFrequencies& rotary, const ModelSpec& spec, Json& json);

/// The rotary positions of a model's two kinds of layers.
struct LayerRotary {
  kernels::RotaryFrequencies full, sliding;
};
/// Reads rope_parameters that have a member for each kind. Returns nothing if they do not.
std::optional<LayerRotary> read_nested_rotary(const Config& config, const ModelSpec& spec,
                                              const RotaryDefaults& full, const RotaryDefaults& sliding);

}  // namespace dt::model::hf
