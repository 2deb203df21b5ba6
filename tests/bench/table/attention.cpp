#include "bench/table/attention.hpp"

#include <algorithm>

#include "bench/table/machine.hpp"
#include "bench/table/timing.hpp"

namespace dt::table {

namespace {

constexpr int rounds = 2;
constexpr double seconds_each = 0.05;

}  // namespace

void Attention::measure(TorchKernels* torch) {
  const FastestContext context;
  const std::int64_t R = shape_.batch * shape_.sequence, outputs = shape_.query_heads * shape_.head_dim,
                     inputs = outputs + 2 * shape_.key_value_heads * shape_.head_dim;
  Tensors memory;
  const Tensor qkv = memory.floats(dtype_, {R, inputs}), dqkv = memory.empty(dtype_, {R, inputs}),
               y = memory.empty(dtype_, {R, outputs}), dy = memory.floats(dtype_, {R, outputs}),
               lse = memory.empty(DType::f32, {shape_.batch, shape_.query_heads, shape_.sequence});
  const kernels::QueriesKeysValues heads = kernels::packed(shape_, qkv);
  const auto forward = [&] { kernels::attention(context, shape_, {}, heads, y, lse); };
  const auto backward = [&] {
    kernels::attention_backward(context, shape_, {}, dy, heads, y, lse, {kernels::packed(shape_, dqkv)});
  };
  for (int round = 0; round < rounds; ++round) {
    dt_.forward = std::min(dt_.forward, best_s(forward, seconds_each));
    dt_.backward = std::min(dt_.backward, best_s(backward, seconds_each));
    if (!torch) continue;
    const AttentionSeconds other = torch->attention_s(dtype_, shape_);
    torch_.forward = std::min(torch_.forward, other.forward);
    torch_.backward = std::min(torch_.backward, other.backward);
  }
}

double Attention::seconds_at_best() const {
  return std::min(dt_.forward, torch_.forward) + std::min(dt_.backward, torch_.backward);
}

double Attention::forward_work() const {
  const auto T = static_cast<double>(shape_.sequence);
  return 2 * static_cast<double>(shape_.batch * shape_.query_heads * shape_.head_dim) * T * T;
}

}  // namespace dt::table
