// Benchmarks each kernel at the shapes of GPT-2 124M. The argument is the number of threads. Products,
// attention and the loss take one sequence of 1,024 tokens. Kernels that memory bounds take more than the
// caches hold, to be compared with `stream`. Legend: R rows, N rows of these kernels, C hidden, F
// feed-forward, V vocabulary, H heads, D head dim.
#include "bench/kernels_bench.hpp"

#include <benchmark/benchmark.h>
#include <cstring>
#include <fmt/format.h>
#include <thread>
#include <vector>

#include "base/numeric/dtype.hpp"
#include "kernels/activation.hpp"
#include "kernels/attention.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/embedding.hpp"
#include "kernels/linear.hpp"
#include "kernels/newton_schulz.hpp"
#include "kernels/norm.hpp"
#include "kernels/optimizer_step.hpp"
#include "kernels/rotary.hpp"
#include "kernels/softcap.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;
using namespace dt_bench;

namespace {

/// Measures the memory's speed in loops that do nothing else: a = b + 3c with plain stores, and memcpy.
/// These bound the kernels below.
void stream(benchmark::State& state, bool triad) {
  Bench bench;
  const Tensor abc = bench.floats({3, parameters});
  float* a = abc.data<float>();
  const float *b = a + parameters, *c = b + parameters;
  measure_bytes(state, (triad ? 3.0 : 2.0) * 4 * parameters, [&](const Context& context) {
    const std::int64_t share = parameters / context.threads();
    const auto run = [=](std::int64_t begin) {
      if (!triad) return void(std::memcpy(a + begin, b + begin, static_cast<std::size_t>(share) * 4));
      for (std::int64_t i = begin; i < begin + share; ++i) a[i] = b[i] + 3 * c[i];
    };
    std::vector<std::jthread> threads;
    for (int t = 1; t < context.threads(); ++t) threads.emplace_back(run, t * share);
    run(0);
  });
}

void linear(benchmark::State& state, std::int64_t N, std::int64_t K, bool bias) {
  Bench b;
  const Tensor x = b.floats({R, K}), w = b.floats({N, K}), y = b.floats({R, N});
  const Tensor bias_N = bias ? b.floats({N}) : Tensor();
  measure_flops(state, 2.0 * R * N * K,
                [&](const Context& c) { kernels::linear(c, x, w, bias_N, Tensor(), y); });
}
void linear_backward_input(benchmark::State& state, std::int64_t N, std::int64_t K, bool) {
  Bench b;
  const Tensor dy = b.floats({R, N}), w = b.floats({N, K}), dx = b.floats({R, K});
  measure_flops(state, 2.0 * R * N * K,
                [&](const Context& c) { kernels::linear_backward_input(c, dy, w, dx); });
}
void linear_backward_weight(benchmark::State& state, std::int64_t N, std::int64_t K, bool bias) {
  Bench b;
  const Tensor dy = b.floats({R, N}), x = b.floats({R, K}), dw = b.floats({N, K});
  const Tensor dbias = bias ? b.floats({N}) : Tensor();
  measure_flops(state, 2.0 * R * N * K,
                [&](const Context& c) { kernels::linear_backward_weight(c, dy, x, dw, dbias); });
}

/// Makes a matrix of a block orthogonal, as Muon does once a step.
void newton_schulz(benchmark::State& state, std::int64_t rows, std::int64_t columns) {
  Bench b;
  const Tensor u = b.floats({rows, columns}), x = b.floats({rows, columns});
  measure_flops(state, kernels::newton_schulz_flops(rows, columns),
                [&](const Context& c) { kernels::newton_schulz(c, u, x); });
}

constexpr kernels::AttentionShape attention_shape{1, R, H, H, D};

void rotary(benchmark::State& state) {
  Bench b;
  const Tensor qkv = b.floats({R, 3 * C}), positions = b.ids(R, R);
  const Tensor cosine = b.floats({R, D / 2}), sine = b.floats({R, D / 2});
  kernels::rotary_tables({}, attention_shape.head_dim, 0, cosine, sine);
  measure_bytes(state, 4 * 2.0 * R * 2 * C, [&](const Context& c) {
    kernels::rotary(c, attention_shape, positions, {cosine, sine}, false, qkv);
  });
}

void layer_norm(benchmark::State& state, DType dtype) {
  Bench b(dtype);
  const Tensor x = b.elements({N, C}), y = b.elements({N, C}), w = b.elements({C}), bias = b.elements({C});
  const Tensor mean = b.floats({N}), rstd = b.floats({N});
  measure_bytes(state, b.bytes(2.0 * N * C),
                [&](const Context& c) { kernels::layer_norm(c, x, w, bias, 1e-5, y, mean, rstd); });
}
void layer_norm_backward(benchmark::State& state, DType dtype) {
  Bench b(dtype);
  const Tensor x = b.elements({N, C}), dy = b.elements({N, C}), dx = b.elements({N, C}), w = b.elements({C});
  const Tensor mean = b.floats({N}), rstd = b.floats({N}), dw = b.floats({C}), dbias = b.floats({C});
  measure_bytes(state, b.bytes(4.0 * N * C), [&](const Context& c) {  // dx aliases dresidual
    kernels::layer_norm_backward(c, dy, x, w, mean, rstd, dx, dx, dw, dbias);
  });
}
void rms_norm(benchmark::State& state, DType dtype) {
  Bench b(dtype);
  const Tensor x = b.elements({N, C}), y = b.elements({N, C}), w = b.elements({C}), rstd = b.floats({N});
  measure_bytes(state, b.bytes(2.0 * N * C),
                [&](const Context& c) { kernels::rms_norm(c, x, w, 1e-5, y, rstd); });
}
void rms_norm_backward(benchmark::State& state, DType dtype) {
  Bench b(dtype);
  const Tensor x = b.elements({N, C}), dy = b.elements({N, C}), dx = b.elements({N, C}), w = b.elements({C});
  const Tensor rstd = b.floats({N}), dw = b.floats({C});
  measure_bytes(state, b.bytes(4.0 * N * C),
                [&](const Context& c) { kernels::rms_norm_backward(c, dy, x, w, rstd, dx, dx, dw); });
}

void gelu(benchmark::State& state, DType dtype) {
  Bench b(dtype);
  const Tensor x = b.elements({N, F}), y = b.elements({N, F});
  measure_bytes(state, b.bytes(2.0 * N * F),
                [&](const Context& c) { kernels::activation(c, kernels::Activation::gelu, x, y); });
}
void gelu_backward(benchmark::State& state, DType dtype) {
  Bench b(dtype);
  const Tensor dy = b.elements({N, F}), x = b.elements({N, F});
  measure_bytes(state, b.bytes(3.0 * N * F), [&](const Context& c) {
    kernels::activation_backward(c, kernels::Activation::gelu, dy, x, x);
  });
}
void swiglu(benchmark::State& state, DType dtype) {
  Bench b(dtype);
  const Tensor gate_up = b.elements({N, 2 * F}), y = b.elements({N, F});
  measure_bytes(state, b.bytes(3.0 * N * F), [&](const Context& c) {
    kernels::gated_activation(c, kernels::Activation::silu, gate_up, y);
  });
}
void swiglu_backward(benchmark::State& state, DType dtype) {
  Bench b(dtype);
  const Tensor gate_up = b.elements({N, 2 * F}), dy = b.elements({N, F});
  measure_bytes(state, b.bytes(5.0 * N * F), [&](const Context& c) {
    kernels::gated_activation_backward(c, kernels::Activation::silu, dy, gate_up, gate_up);
  });
}

void embedding(benchmark::State& state, DType dtype) {
  Bench b(dtype);
  const Tensor ids = b.ids(N, V), table = b.elements({V, C}), y = b.elements({N, C});
  measure_bytes(state, b.bytes(2.0 * N * C),
                [&](const Context& c) { kernels::embedding(c, ids, table, false, y); });
}
void embedding_backward(benchmark::State& state, DType dtype) {
  Bench b(dtype);
  const Tensor ids = b.ids(N, V), dy = b.elements({N, C}), dtable = b.floats({V, C});
  measure_bytes(state, b.bytes(1.0 * N * C) + 4 * 2.0 * N * C,
                [&](const Context& c) { kernels::embedding_backward(c, ids, dy, dtable); });
}

void cross_entropy(benchmark::State& state, DType dtype) {
  Bench b(dtype);
  const Tensor logits = b.elements({R, V}), labels = b.ids(R, V), nll = b.doubles(R);
  measure_bytes(state, b.bytes(1.0 * R * V),
                [&](const Context& c) { kernels::cross_entropy(c, logits, labels, nll); });
}
void cross_entropy_gradient(benchmark::State& state, DType dtype) {
  Bench b(dtype);
  const Tensor logits = b.elements({R, V}), labels = b.ids(R, V), nll = b.doubles(R);
  measure_bytes(state, b.bytes(2.0 * R * V),
                [&](const Context& c) { kernels::cross_entropy_gradient(c, labels, 1e-3, nll, logits); });
}
void scale_and_softcap(benchmark::State& state, DType dtype) {
  Bench b(dtype);
  const Tensor logits = b.elements({R, V});
  measure_bytes(state, b.bytes(2.0 * R * V),
                [&](const Context& c) { kernels::scale_and_softcap(c, 1, 30, logits); });
}
/// Measures a rank that has the whole vocabulary; with n ranks the time is an n-th.
void cross_entropy_partial(benchmark::State& state, DType dtype) {
  Bench b(dtype);
  const Tensor logits = b.elements({R, V}), labels = b.ids(R, V), part = b.doubles(3 * R).reshaped({3, R});
  measure_bytes(state, b.bytes(1.0 * R * V), [&](const Context& c) {
    kernels::cross_entropy_partial(c, logits, labels, {0, V}, part);
  });
}
void cross_entropy_gradient_from_partials(benchmark::State& state, DType dtype) {
  Bench b(dtype);
  const Tensor logits = b.elements({R, V}), labels = b.ids(R, V), nll = b.doubles(R);
  const Tensor parts = b.doubles(3 * R).reshaped({1, 3, R});
  kernels::cross_entropy_partial(Context(1, Device::host()), logits, labels, {0, V}, parts.reshaped({3, R}));
  measure_bytes(state, b.bytes(2.0 * R * V), [&](const Context& c) {
    kernels::cross_entropy_gradient_from_partials(c, parts, labels, {0, V}, 1e-3, nll, logits);
  });
}

void add(benchmark::State& state, DType dtype) {
  Bench b(dtype);
  const Tensor x = b.elements({parameters}), y = b.elements({parameters});
  measure_bytes(state, b.bytes(3.0 * parameters), [&](const Context& c) { kernels::add(c, x, y, y); });
}
void scale_add(benchmark::State& state, DType dtype) {
  Bench b(dtype);
  const Tensor x = b.elements({N, C}), y = b.elements({N, C});
  measure_bytes(state, b.bytes(3.0 * N * C), [&](const Context& c) { kernels::scale_add(c, 0.3, x, y, y); });
}
void add_bias_residual(benchmark::State& state, DType dtype) {
  Bench b(dtype);
  const Tensor x = b.elements({N, C}), bias = b.elements({C}), y = b.elements({N, C});
  measure_bytes(state, b.bytes(3.0 * N * C),
                [&](const Context& c) { kernels::add_bias_residual(c, x, bias, y, y); });
}
void bias_backward(benchmark::State& state, DType dtype) {
  Bench b(dtype);
  const Tensor dy = b.elements({N, C}), dbias = b.floats({C});
  measure_bytes(state, b.bytes(1.0 * N * C), [&](const Context& c) { kernels::bias_backward(c, dy, dbias); });
}
/// Adds fp32 into gradients of this dtype.
void accumulate(benchmark::State& state, DType dtype) {
  Bench b(dtype);
  const Tensor x = b.floats({parameters}), y = b.elements({parameters});
  measure_bytes(state, 4.0 * parameters + b.bytes(2.0 * parameters),
                [&](const Context& c) { kernels::accumulate(c, x, y); });
}
/// Converts fp32 to this dtype.
void convert(benchmark::State& state, DType dtype) {
  Bench b(dtype);
  const Tensor x = b.floats({parameters}), y = b.elements({parameters});
  measure_bytes(state, 4.0 * parameters + b.bytes(parameters),
                [&](const Context& c) { kernels::cast(c, x, y); });
}
void copy(benchmark::State& state) {
  Bench b;
  const Tensor x = b.floats({parameters}), y = b.floats({parameters});
  measure_bytes(state, 4 * 2.0 * parameters, [&](const Context& c) { kernels::copy(c, x, y); });
}
void zero(benchmark::State& state) {
  Bench b;
  const Tensor x = b.floats({parameters});
  measure_bytes(state, 4.0 * parameters, [&](const Context& c) { kernels::zero(c, x); });
}
void sum_squares_by_block(benchmark::State& state, DType dtype) {
  Bench b(dtype);
  const Tensor x = b.elements({parameters});
  std::vector<double> partials(static_cast<std::size_t>(kernels::num_sum_blocks(parameters)));
  measure_bytes(state, b.bytes(parameters),
                [&](const Context& c) { kernels::sum_squares_by_block(c, x, host_tensor(partials)); });
}
/// Updates fp32 weights. With a 16-bit dtype, they have a copy in that dtype. With bf16, gradients are bf16,
/// too. Moments in bf16 require bf16.
void optimizer_step(benchmark::State& state, DType dtype, const kernels::OptimizerSettings& settings) {
  Bench b(dtype);
  const Tensor w = b.floats({parameters});
  std::vector<Tensor> states;
  for (int k = 0; k < kernels::num_optimizer_states(settings); ++k) {
    states.push_back(settings.moments == kernels::MomentType::bf16 ? b.elements({parameters})
                                                                   : b.floats({parameters}));
    kernels::zero(Context(1, Device::host()), states.back());
  }
  const Tensor g = dtype == DType::bf16 ? b.elements({parameters}) : b.floats({parameters});
  const Tensor copy = dtype == DType::f32 ? Tensor() : b.elements({parameters});
  const kernels::OptimizerStep step{.settings = settings, .lr = 1e-4, .step = 10, .grad_scale = 1};
  const std::size_t state_bytes = states.empty() ? 0 : states.size() * states.front().bytes();
  const auto bytes = 2 * (w.bytes() + state_bytes) + g.bytes() + (copy ? copy.bytes() : 0);
  measure_bytes(state, static_cast<double>(bytes),
                [&](const Context& c) { kernels::optimizer_step(c, step, w, g, states, copy); });
}

void register_all() {
  using Kernel = void (*)(benchmark::State&);
  const auto add_kernel = [](const char* name, Kernel kernel) {
    one_thread_and_all(benchmark::RegisterBenchmark(name, kernel));
  };
  struct Matrix {
    const char* name;
    std::int64_t N, K;
    bool bias;
  };
  for (const Matrix& m :
       {Matrix{"qkv", 3 * C, C, true}, Matrix{"attention_out", C, C, true}, Matrix{"mlp_up", F, C, true},
        Matrix{"mlp_down", C, F, true}, Matrix{"head", V, C, false}}) {
    const auto add_linear = [&](const char* kind, auto* kernel) {
      const std::string name = std::string(kind) + "/" + m.name;
      one_thread_and_all(benchmark::RegisterBenchmark(name.c_str(), kernel, m.N, m.K, m.bias));
    };
    add_linear("linear", linear);
    add_linear("linear_backward_input", linear_backward_input);
    add_linear("linear_backward_weight", linear_backward_weight);
  }
  one_thread_and_all(benchmark::RegisterBenchmark("newton_schulz/square", newton_schulz, C, C));
  one_thread_and_all(benchmark::RegisterBenchmark("newton_schulz/mlp_up", newton_schulz, F, C));
  one_thread_and_all(benchmark::RegisterBenchmark("newton_schulz/mlp_down", newton_schulz, C, F));
  register_attention();
#define DT_ADD(kernel) add_kernel(#kernel, kernel)
  DT_ADD(rotary), DT_ADD(copy), DT_ADD(zero);
#undef DT_ADD
  one_thread_and_all(benchmark::RegisterBenchmark("stream/triad", stream, true));
  one_thread_and_all(benchmark::RegisterBenchmark("stream/copy", stream, false));
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const auto add_by_dtype = [&](const char* kind, auto* kernel) {
      const std::string name = std::string(kind) + "/" + std::string(dtype_name(dtype));
      one_thread_and_all(benchmark::RegisterBenchmark(name.c_str(), kernel, dtype));
    };
#define DT_ADD(kernel) add_by_dtype(#kernel, kernel)
    DT_ADD(layer_norm), DT_ADD(layer_norm_backward), DT_ADD(rms_norm), DT_ADD(rms_norm_backward);
    DT_ADD(gelu), DT_ADD(gelu_backward), DT_ADD(swiglu), DT_ADD(swiglu_backward);
    DT_ADD(embedding), DT_ADD(embedding_backward), DT_ADD(cross_entropy), DT_ADD(cross_entropy_gradient);
    DT_ADD(cross_entropy_partial), DT_ADD(cross_entropy_gradient_from_partials);
    DT_ADD(scale_and_softcap);
    DT_ADD(add_bias_residual), DT_ADD(bias_backward);
    DT_ADD(add), DT_ADD(scale_add), DT_ADD(convert), DT_ADD(sum_squares_by_block);
    for (const auto& [name, kind] : enum_names(kernels::OptimizerKind{})) {
      // Muon and Adafactor have no elementwise rule: they use newton_schulz and sgd, and sums over lines.
      if (kind == kernels::OptimizerKind::muon || kind == kernels::OptimizerKind::adafactor) continue;
      const std::string row = fmt::format("{}/{}", name, dtype_name(dtype));
      one_thread_and_all(
          benchmark::RegisterBenchmark(row.c_str(), optimizer_step, dtype, kernels::OptimizerSettings{kind}));
    }
    if (dtype == DType::bf16)
      one_thread_and_all(
          benchmark::RegisterBenchmark("adamw_bf16_moments/bf16", optimizer_step, dtype,
                                       kernels::OptimizerSettings{.moments = kernels::MomentType::bf16}));
    if (dtype != DType::f16) DT_ADD(accumulate);
#undef DT_ADD
  }
}

}  // namespace

int main(int argc, char** argv) {
  register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
