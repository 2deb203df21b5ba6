#include "model/layers/rotary_tables.hpp"

#include <algorithm>

#include "tensor/host_tensor.hpp"

namespace dt::model {

namespace {

/// Returns how many positions the tables for short sequences have. Sequences up to that length have lower
/// positions.
std::int64_t short_positions(const ModelSpec& spec, const kernels::RotaryFrequencies& frequencies) {
  const auto& scaling = frequencies.scaling;
  if (!scaling || scaling->type != kernels::RotaryScaling::Type::longrope) return spec.max_positions;
  return std::min(spec.max_positions, scaling->original_positions);
}

}  // namespace

RotaryTables::Tables::Tables(Device device, const ModelSpec& spec,
                             const kernels::RotaryFrequencies& frequencies, std::int64_t positions,
                             DType statistics) {
  const Shape shape{positions, kernels::num_rotary_frequencies(frequencies, spec.head_dim)};
  const std::size_t bytes = static_cast<std::size_t>(shape.numel()) * dtype_bytes(statistics);
  const bool has_factors = frequencies.query_scale != 0;
  const std::size_t factor_bytes =
      has_factors ? static_cast<std::size_t>(positions) * dtype_bytes(statistics) : 0;
  Buffer values(Device::host(), 2 * bytes + factor_bytes);
  kernels::rotary_tables(frequencies, spec.head_dim, positions, Tensor(values, statistics, shape),
                         Tensor(values, statistics, shape, bytes));
  if (has_factors) kernels::query_factors(frequencies, Tensor(values, statistics, {positions}, 2 * bytes));
  memory = to_device(device, std::move(values));
  rotation = {.cos_PF = Tensor(memory, statistics, shape),
              .sin_PF = Tensor(memory, statistics, shape, bytes),
              .query_factor_P = has_factors ? Tensor(memory, statistics, {positions}, 2 * bytes) : Tensor(),
              .is_interleaved = frequencies.is_interleaved};
}

RotaryTables::RotaryTables(Device device, const ModelSpec& spec, const AttentionSpec& attention,
                           DType statistics) {
  if (spec.position != Position::rotary || !attention.is_rotary) return;
  original_positions_ = short_positions(spec, attention.rotary);
  short_.emplace(device, spec, attention.rotary, original_positions_, statistics);
  if (original_positions_ < spec.max_positions)
    long_.emplace(device, spec, attention.rotary, spec.max_positions, statistics);
}

const kernels::Rotation* RotaryTables::of_sequences(std::int64_t length) const {
  if (!short_) return nullptr;
  return long_ && length > original_positions_ ? &long_->rotation : &short_->rotation;
}

bool same_rotation(const AttentionSpec& a, const AttentionSpec& b) {
  return a.is_rotary == b.is_rotary && (!a.is_rotary || a.rotary == b.rotary);
}

}  // namespace dt::model
