#include <algorithm>
#include <benchmark/benchmark.h>
#include <string>

#include "bench/kernels_bench.hpp"
#include "kernels/arithmetic.hpp"
#include "kernels/attention.hpp"

namespace dt_bench {

namespace {

/// A shape of attention, its dtype, and the arithmetic of its products.
struct AttentionCase {
  const char* name;
  DType dtype;
  Arithmetic multiply;
  std::int64_t sequence;
  std::int64_t window = 0;
  std::int64_t batch = 1, query_heads = H, key_value_heads = H, head_dim = D;
  double softcap = 0;
};
constexpr AttentionCase in_batches(AttentionCase c) {
  c.batch = 4;
  return c;
}
/// Returns the case with wide heads in groups of four, as in a large Llama.
constexpr AttentionCase in_groups(AttentionCase c) {
  c.query_heads = 32;
  c.key_value_heads = 8;
  c.head_dim = 128;
  return c;
}
/// Returns the case with capped scores, as in Gemma 2.
constexpr AttentionCase capped(AttentionCase c) {
  c.softcap = 50;
  return c;
}
constexpr AttentionCase attention_cases[] = {
    {"f32/1024", DType::f32, Arithmetic::fp32, 1024},
    {"f32/4096", DType::f32, Arithmetic::fp32, 4096},
    capped({"f32_capped/1024", DType::f32, Arithmetic::fp32, 1024}),
    {"bf16/1024", DType::bf16, Arithmetic::bf16, 1024},
    {"bf16/4096", DType::bf16, Arithmetic::bf16, 4096},
    {"bf16_in_f32/1024", DType::bf16, Arithmetic::fp32, 1024},
    {"bf16_in_f32/4096", DType::bf16, Arithmetic::fp32, 4096},
    {"bf16_window_512/4096", DType::bf16, Arithmetic::bf16, 4096, 512},
    in_groups({"bf16_groups/2048", DType::bf16, Arithmetic::bf16, 2048}),
    {"amx/1024", DType::bf16, Arithmetic::amx, 1024},
    {"amx/4096", DType::bf16, Arithmetic::amx, 4096},
    in_batches({"amx_batch_4/1024", DType::bf16, Arithmetic::amx, 1024}),
    {"amx_window_512/4096", DType::bf16, Arithmetic::amx, 4096, 512},
    in_groups({"amx_groups/2048", DType::bf16, Arithmetic::amx, 2048}),
    capped({"amx_capped/1024", DType::bf16, Arithmetic::amx, 1024}),
};

struct AttentionBench {
  explicit AttentionBench(const AttentionCase& c)
      : T(c.sequence),
        shape{c.batch, T, c.query_heads, c.key_value_heads, c.head_dim, {0, c.softcap}},
        qkv(b.values(c.dtype, {c.batch * T, (c.query_heads + 2 * c.key_value_heads) * c.head_dim})),
        dy(b.values(c.dtype, {c.batch * T, c.query_heads * c.head_dim})),
        y(b.values(c.dtype, dy.shape())),
        dqkv(b.values(c.dtype, qkv.shape())),
        lse(b.floats({c.batch, c.query_heads, T})) {
    if (c.window == 0) return;
    first = b.ids(T, T);
    for (std::int64_t t = 0; t < T; ++t) {
      first.data<std::int32_t>()[t] = static_cast<std::int32_t>(std::max<std::int64_t>(0, t - c.window + 1));
    }
  }
  void forward(const Context& c) const { kernels::attention(c, shape, {first}, packed(shape, qkv), y, lse); }
  void backward(const Context& c) const {
    kernels::attention_backward(c, shape, {first}, dy, packed(shape, qkv), y, lse, {packed(shape, dqkv)});
  }
  Bench b;
  std::int64_t T;
  kernels::AttentionShape shape;
  Tensor first, qkv, dy, y, dqkv, lse;
};

// Counts visible scores only: 2 matrix products forward, 5 backward.
double attention_flops(const AttentionCase& c) {
  const double T = static_cast<double>(c.sequence), W = static_cast<double>(c.window);
  const auto features = static_cast<double>(c.batch * c.query_heads * c.head_dim);
  return 4.0 * features * (c.window == 0 ? T * T / 2 : T * W - W * W / 2);
}
void attention(benchmark::State& state, const AttentionCase& c) {
  const AttentionBench bench(c);
  measure_flops(
      state, attention_flops(c), [&](const Context& context) { bench.forward(context); }, c.multiply);
}
void attention_backward(benchmark::State& state, const AttentionCase& c) {
  const AttentionBench bench(c);
  bench.forward(Context(1, Device::host()));
  measure_flops(
      state, 2.5 * attention_flops(c), [&](const Context& context) { bench.backward(context); }, c.multiply);
}

}  // namespace

void register_attention() {
  for (const AttentionCase& c : attention_cases) {
    if (!kernels::supports_arithmetic(c.multiply)) continue;
    const std::string name = std::string("attention/") + c.name;
    one_thread_and_all(benchmark::RegisterBenchmark(name.c_str(), attention, c));
    const std::string backward = std::string("attention_backward/") + c.name;
    one_thread_and_all(benchmark::RegisterBenchmark(backward.c_str(), attention_backward, c));
  }
}

}  // namespace dt_bench
