#include "model/flops.hpp"

#include <algorithm>

#include "model/layers/feed_forward.hpp"

namespace dt::model {

namespace {

/// Returns the parameters that a block multiplies with.
std::int64_t block_parameters(const ModelSpec& spec, std::int64_t layer) {
  const std::int64_t q = spec.query_heads * spec.head_dim;
  const std::int64_t kv = spec.key_value_heads * spec.head_dim;
  std::int64_t count = spec.hidden * (2 * q + 2 * kv);
  for (const FeedForwardStep& step : spec.feed_forward[layer]->steps(spec)) {
    if (step.kind == FeedForwardStep::Kind::product) count += step.inputs * step.outputs;
  }
  return count;
}

std::int64_t head_parameters(const ModelSpec& spec) {
  return spec.vocabulary * spec.hidden;
}

}  // namespace

std::vector<UnitFlops> unit_flops_per_token(const ModelSpec& spec, std::int64_t sequence_length) {
  const double head = 2.0 * static_cast<double>(head_parameters(spec));
  std::vector<UnitFlops> units(1);
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    const std::int64_t keys =
        std::min(sequence_length, spec.attention[layer].window.value_or(sequence_length));
    const double attention = 4.0 * static_cast<double>(spec.query_heads * spec.head_dim * keys);
    const double block = 2.0 * static_cast<double>(block_parameters(spec, layer));
    units.push_back({block + attention, block + 2 * attention, block});
  }
  units.push_back({head, head, head});
  return units;
}

double flops_per_token(const ModelSpec& spec, std::int64_t sequence_length) {
  double sum = 0;
  for (const UnitFlops& unit : unit_flops_per_token(spec, sequence_length)) sum += unit.sum();
  return sum;
}

}  // namespace dt::model
