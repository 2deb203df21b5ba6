// Benchmarks dt's and oneDNN's matrix products at the shapes of GPT-2 124M, side by side. The arguments are
// the number of rows (tokens) and of threads. Legend: R rows, N output features, K input features.
#include <algorithm>
#include <benchmark/benchmark.h>
#include <bit>
#include <functional>
#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <thread>

#include "kernels/cpu/gemm/gemm.hpp"
#include "tensor/buffer.hpp"

namespace {

using namespace dt;
using kernels::cpu::Matrix;

enum class Pass { forward, input, weight };

struct Case {
  const char* name;
  std::int64_t N, K;
  Pass pass;
  DType operands, output;
  Arithmetic arithmetic;
};

/// A product's dimensions, and which of its operands are transposed.
struct Dimensions {
  std::int64_t M, N, K;
  bool a_transposed, b_transposed;
};

Dimensions dimensions(const Case& c, std::int64_t R) {
  if (c.pass == Pass::forward) return {R, c.N, c.K, false, true};
  if (c.pass == Pass::input) return {R, c.K, c.N, false, false};
  return {c.N, c.K, R, true, false};
}

/// Returns small values of the dtype that are not all equal.
Buffer operand(DType dtype, std::int64_t count) {
  Buffer buffer(Device::host(), static_cast<std::size_t>(count) * dtype_bytes(dtype));
  std::uint32_t state = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    const float value = static_cast<float>(state >> 8) / 16777216.0f - 0.5f;
    if (dtype == DType::f32) {
      reinterpret_cast<float*>(buffer.data())[i] = value;
    } else {
      reinterpret_cast<std::uint16_t*>(buffer.data())[i] =
          static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
    }
  }
  return buffer;
}

void report(benchmark::State& state, const Dimensions& d) {
  state.counters["GFLOP"] = benchmark::Counter(2e-9 * static_cast<double>(d.M * d.N * d.K),
                                               benchmark::Counter::kIsIterationInvariantRate);
}

void ours(benchmark::State& state, const Case& c) {
  const Dimensions d = dimensions(c, state.range(0));
  const Context context(static_cast<int>(state.range(1)), Device::host());
  if (!kernels::cpu::arithmetic_unavailable_reason(c.arithmetic).empty())
    return state.SkipWithError("not on this processor");
  const Buffer a = operand(c.operands, d.M * d.K), b = operand(c.operands, d.K * d.N),
               out = operand(c.output, d.M * d.N);
  kernels::cpu::Product p{};
  p.M = d.M;
  p.N = d.N;
  p.K = d.K;
  p.operands = c.operands;
  p.a = {a.data(), d.a_transposed ? d.M : d.K, d.a_transposed};
  p.b = {b.data(), d.b_transposed ? d.K : d.N, d.b_transposed};
  p.output = c.output;
  p.c = out.data();
  p.c_stride = d.N;
  p.accumulate = c.pass == Pass::weight;
  p.arithmetic = c.arithmetic;
  kernels::cpu::multiply(context, p);
  for (auto _ : state) kernels::cpu::multiply(context, p);
  report(state, d);
}

dnnl::memory::data_type onednn_dtype(DType dtype) {
  return dtype == DType::f32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
}

/// Runs the matmul primitive, built once; `packed` lets oneDNN keep b in a layout of its choice, converted
/// beforehand.
void onednn(benchmark::State& state, const Case& c, bool packed) {
  using Tag = dnnl::memory::format_tag;
  const Dimensions d = dimensions(c, state.range(0));
  omp_set_num_threads(static_cast<int>(state.range(1)));
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const auto in = onednn_dtype(c.operands), out = onednn_dtype(c.output);
  const dnnl::memory::desc a({d.M, d.K}, in, d.a_transposed ? Tag::ba : Tag::ab);
  const dnnl::memory::desc b({d.K, d.N}, in, packed ? Tag::any : d.b_transposed ? Tag::ba : Tag::ab);
  const dnnl::memory::desc to({d.M, d.N}, out, Tag::ab);
  dnnl::primitive_attr attributes;
  if (c.pass == Pass::weight) {
    dnnl::post_ops sum;
    sum.append_sum(1);
    attributes.set_post_ops(sum);
  }
  const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a, b, to), attributes, engine);
  const dnnl::matmul product(description);
  const Buffer a_values = operand(c.operands, d.M * d.K), to_values = operand(c.output, d.M * d.N);
  const dnnl::memory ma(description.src_desc(), engine, a_values.data()),
      mb(description.weights_desc(), engine), mc(description.dst_desc(), engine, to_values.data());
  const Buffer b_values = operand(c.operands, d.K * d.N);
  const dnnl::memory plain({{d.K, d.N}, in, d.b_transposed ? Tag::ba : Tag::ab}, engine, b_values.data());
  dnnl::reorder(plain, mb).execute(stream, {{DNNL_ARG_FROM, plain}, {DNNL_ARG_TO, mb}});
  stream.wait();
  const auto run = [&] {
    product.execute(stream, {{DNNL_ARG_SRC, ma}, {DNNL_ARG_WEIGHTS, mb}, {DNNL_ARG_DST, mc}});
    stream.wait();
  };
  run();
  for (auto _ : state) run();
  report(state, d);
}

void onednn_sgemm(benchmark::State& state, const Case& c) {
  const Dimensions d = dimensions(c, state.range(0));
  omp_set_num_threads(static_cast<int>(state.range(1)));
  const Buffer a = operand(DType::f32, d.M * d.K), b = operand(DType::f32, d.K * d.N),
               out = operand(DType::f32, d.M * d.N);
  const auto floats = [](const Buffer& buffer) { return reinterpret_cast<float*>(buffer.data()); };
  const auto run = [&] {
    dnnl_sgemm(d.a_transposed ? 'T' : 'N', d.b_transposed ? 'T' : 'N', d.M, d.N, d.K, 1, floats(a),
               d.a_transposed ? d.M : d.K, floats(b), d.b_transposed ? d.K : d.N,
               c.pass == Pass::weight ? 1 : 0, floats(out), d.N);
  };
  run();
  for (auto _ : state) run();
  report(state, d);
}

void add_case(const Case& c, const char* format) {
  const char* passes[] = {"forward", "input", "weight"};
  const std::string name = std::string(c.name) + "/" + passes[static_cast<int>(c.pass)] + "/" + format + "/";
  const auto threads = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  const auto add = [&](const char* who, const std::function<void(benchmark::State&)>& body) {
    auto* entry = benchmark::RegisterBenchmark((name + who).c_str(), body)->UseRealTime();
    const bool is_head = c.N > 50000;
    for (const std::int64_t R : {is_head ? 512 : 1024, is_head ? 1024 : 4096}) entry->Args({R, threads});
  };
  add("dt", [c](benchmark::State& state) { ours(state, c); });
  if (c.operands != DType::f32 && c.arithmetic == Arithmetic::fp32) return;
  add("onednn", [c](benchmark::State& state) { onednn(state, c, false); });
  add("onednn_packed", [c](benchmark::State& state) { onednn(state, c, true); });
  if (c.operands == DType::f32) add("onednn_sgemm", [c](benchmark::State& state) { onednn_sgemm(state, c); });
}

}  // namespace

int main(int argc, char** argv) {
  const struct {
    const char* name;
    std::int64_t N, K;
  } layers[] = {
      {"qkv", 2304, 768}, {"out", 768, 768}, {"up", 3072, 768}, {"down", 768, 3072}, {"head", 50257, 768}};
  for (const auto& layer : layers) {
    for (const Pass pass : {Pass::forward, Pass::input, Pass::weight}) {
      const DType half_output = pass == Pass::weight ? DType::f32 : DType::bf16;
      add_case({layer.name, layer.N, layer.K, pass, DType::f32, DType::f32, Arithmetic::fp32}, "f32");
      add_case({layer.name, layer.N, layer.K, pass, DType::bf16, half_output, Arithmetic::amx}, "amx");
      add_case({layer.name, layer.N, layer.K, pass, DType::bf16, half_output, Arithmetic::bf16}, "bf16");
      add_case({layer.name, layer.N, layer.K, pass, DType::bf16, half_output, Arithmetic::fp32},
               "bf16_in_f32");
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
