#include "model/arithmetic.hpp"

#include <algorithm>

namespace dt::model {

std::int64_t matmul_parameters(const ModelSpec& spec) {
  const std::int64_t q = spec.query_heads * spec.head_dim;
  const std::int64_t kv = spec.key_value_heads * spec.head_dim;
  const std::int64_t mlp_matrices = spec.mlp == Mlp::swiglu ? 3 : 2;
  const std::int64_t block = spec.hidden * (2 * q + 2 * kv) + mlp_matrices * spec.hidden * spec.mlp_hidden;
  return spec.layers * block + spec.vocabulary * spec.hidden;
}

double flops_per_token(const ModelSpec& spec, std::int64_t sequence_length) {
  const std::int64_t keys = spec.sliding_window.value_or(sequence_length);
  const double attention = 12.0 * static_cast<double>(spec.layers) *
                           static_cast<double>(spec.query_heads * spec.head_dim) *
                           static_cast<double>(std::min(sequence_length, keys));
  return 6.0 * static_cast<double>(matmul_parameters(spec)) + attention;
}

}  // namespace dt::model
