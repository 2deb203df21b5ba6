#include "gpu/comparisons.hpp"

#include <fmt/format.h>

#include "kernels/attention.hpp"
#include "kernels/linear.hpp"

namespace dt::test_device {

namespace {

using kernels::cuda::FusedAttention;
using kernels::cuda::FusedAttentionGradients;
using kernels::cuda::Product;

}  // namespace

std::vector<Comparison> compare_products(Measure& measure, const std::vector<Layer>& layers,
                                         const FastestProduct& fastest) {
  std::vector<Comparison> all;
  const auto compare = [&](const char* layer, const char* half, const Product& product) {
    const double seconds = measure.seconds([&] { kernels::cuda::multiply(measure.context(), product); });
    all.push_back({fmt::format("{}, {}", layer, half), seconds, fastest(measure, product)});
  };
  for (const auto& [name, R, K, N, has_bias, adds_residual] : layers) {
    const Tensor x_RK = measure.tensor({R, K}), w_NK = measure.tensor({N, K});
    const std::int64_t pitch = kernels::row_pitch(measure.context().device(), N);
    const bool is_padded = pitch != N && !has_bias && !adds_residual;  // as logits are
    const Tensor y_RN = is_padded ? measure.tensor({R, pitch}).first_columns(N) : measure.tensor({R, N});
    const Tensor bias_N = has_bias ? measure.tensor({N}) : Tensor();
    const Tensor residual_RN = adds_residual ? measure.tensor({R, N}) : Tensor();
    const Tensor dw_NK = measure.tensor({N, K}, DType::f32);
    compare(name, "forward", {{x_RK}, {w_NK, true}, bias_N, residual_RN, y_RN});
    compare(name, "input's gradient", {{y_RN}, {w_NK}, Tensor(), Tensor(), x_RK});
    compare(name, "weight's gradient", {{y_RN, true}, {x_RK}, Tensor(), dw_NK, dw_NK});
    measure.clear();
  }
  return all;
}

std::vector<Comparison> compare_attention(Measure& measure,
                                          const std::vector<kernels::AttentionShape>& shapes,
                                          const FastestAttention& fastest) {
  std::vector<Comparison> all;
  const Context& context = measure.context();
  for (const kernels::AttentionShape& s : shapes) {
    const std::int64_t R = s.batch * s.sequence, Q = s.query_heads * s.head_dim,
                       E = Q + 2 * s.key_value_heads * s.head_dim;
    const Tensor qkv_RE = measure.tensor({R, E}), dqkv_RE = measure.tensor({R, E}),
                 y_RQ = measure.tensor({R, Q}), dy_RQ = measure.tensor({R, Q}),
                 lse_BHT = measure.tensor({s.batch, s.query_heads, s.sequence}, DType::f32);
    const kernels::QueriesKeysValues qkv = kernels::packed(s, qkv_RE), dqkv = kernels::packed(s, dqkv_RE);
    const FusedAttention fused{s, kernels::cuda::Mask::causal, qkv, {y_RQ}, lse_BHT, {}};
    const FusedAttentionGradients gradients{{dy_RQ}, dqkv};
    const auto compare = [&](const char* half, const auto& run, const FusedAttentionGradients* to) {
      const double seconds = measure.seconds(run);
      all.push_back({fmt::format("{} heads of {}, T {}, {}", s.query_heads, s.head_dim, s.sequence, half),
                     seconds, fastest(measure, fused, to)});
    };
    compare(
        "forward", [&] { kernels::attention(context, s, {}, qkv, y_RQ, lse_BHT); }, nullptr);
    compare(
        "backward", [&] { kernels::attention_backward(context, s, {}, dy_RQ, qkv, y_RQ, lse_BHT, {dqkv}); },
        &gradients);
    measure.clear();
  }
  return all;
}

}  // namespace dt::test_device
