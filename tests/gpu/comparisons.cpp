#include "gpu/comparisons.hpp"

#include <fmt/format.h>

#include "kernels/attention.hpp"
#include "kernels/linear.hpp"

namespace dt::test_device {

namespace {

using kernels::cuda::FusedAttention;
using kernels::cuda::FusedAttentionGradients;
using kernels::cuda::Matmul;

}  // namespace

std::vector<Comparison> compare_products(Measure& measure, const std::vector<Layer>& layers,
                                         const FastestProduct& fastest) {
  std::vector<Comparison> all;
  const auto compare = [&](const char* layer, const char* half, const Matmul& product) {
    const double seconds = measure.seconds([&] { kernels::cuda::matmul(measure.context(), product); });
    all.push_back({fmt::format("{}, {}", layer, half), seconds, fastest(measure, product, Tensor())});
  };
  const Device device = measure.context().device();
  for (const auto& [name, R, K, N, has_bias, adds_residual] : layers) {
    const bool is_head = !has_bias && !adds_residual;  // others are never padded
    const std::int64_t pitch = is_head ? kernels::row_pitch(device, N) : N,
                       P = is_head ? kernels::padded_features(device, DType::bf16, N) : N;
    const Tensor x_RK = measure.tensor({R, K}), w_PK = measure.tensor({P, K});
    const Tensor y_RS = measure.tensor({R, pitch}), y_RP = y_RS.first_columns(P);
    const Tensor bias_P = has_bias ? measure.tensor({P}) : Tensor();
    const Tensor residual_RP = adds_residual ? measure.tensor({R, P}) : Tensor();
    const Tensor dw_NK = measure.tensor({N, K}, DType::f32);
    compare(name, "forward", {{x_RK}, {w_PK, true}, bias_P, residual_RP, y_RP});
    compare(name, "input's gradient", {{y_RP}, {w_PK}, Tensor(), Tensor(), x_RK});
    const char* half = "weight's gradient";
    for (const Matmul& product :
         kernels::cuda::weight_gradient_matmuls(y_RS.first_columns(N), x_RK, dw_NK, dw_NK)) {
      compare(name, half, product);
      half = "weight's gradient, last features";
    }
    if (has_bias) {  // dt sums the bias's gradient in a kernel of its own, cuBLASLt in the product (BGRADB)
      const Tensor dbias_N = measure.tensor({N}, DType::f32);
      const double seconds = measure.seconds(
          [&] { kernels::linear_backward_weight(measure.context(), y_RS, x_RK, dw_NK, dbias_N); });
      all.push_back({fmt::format("{}, weight's and bias's gradients", name), seconds,
                     fastest(measure, {{y_RS, true}, {x_RK}, Tensor(), dw_NK, dw_NK}, dbias_N)});
    }
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
