#include "model/flops.hpp"

#include <algorithm>

namespace dt::model {

namespace {

std::int64_t block_parameters(const ModelSpec& spec) {
  const std::int64_t q = spec.query_heads * spec.head_dim;
  const std::int64_t kv = spec.key_value_heads * spec.head_dim;
  const std::int64_t mlp_matrices = spec.mlp == Mlp::swiglu ? 3 : 2;
  return spec.hidden * (2 * q + 2 * kv) + mlp_matrices * spec.hidden * spec.mlp_hidden;
}

std::int64_t head_parameters(const ModelSpec& spec) {
  return spec.vocabulary * spec.hidden;
}

}  // namespace

std::vector<UnitFlops> unit_flops_per_token(const ModelSpec& spec, std::int64_t sequence_length) {
  const std::int64_t keys = std::min(sequence_length, spec.sliding_window.value_or(sequence_length));
  const double attention = 4.0 * static_cast<double>(spec.query_heads * spec.head_dim * keys);
  const double block = 2.0 * static_cast<double>(block_parameters(spec));
  const double head = 2.0 * static_cast<double>(head_parameters(spec));
  std::vector<UnitFlops> units(static_cast<std::size_t>(spec.layers) + 2,
                               {block + attention, block + 2 * attention, block});
  units.front() = {};
  units.back() = {head, head, head};
  return units;
}

double flops_per_token(const ModelSpec& spec, std::int64_t sequence_length) {
  double sum = 0;
  for (const UnitFlops& unit : unit_flops_per_token(spec, sequence_length)) sum += unit.sum();
  return sum;
}

}  // namespace dt::model
