// Benchmarks the parts of a training step of GPT-2 124M: each unit's forward and backward halves at one
// sequence of 1,024 tokens. A step of one micro-batch is one embedding, twelve blocks and one head, then
// the optimizer (see kernels_bench). The argument is the number of threads.
#include <benchmark/benchmark.h>
#include <thread>

#include "model/flops.hpp"
#include "model/initialise.hpp"
#include "support/unit_runner.hpp"

namespace {

using namespace dt;

constexpr std::int64_t sequence = 1024;
enum Unit : std::size_t { embedding = 0, block = 1, head = 2 };

/// Returns GPT-2 124M with one block instead of twelve.
model::ModelSpec one_block() {
  model::ModelSpec spec = model::load_model_spec("gpt2-124m");
  spec.layers = 1;
  return spec;
}

struct Rig {
  Rig()
      : decoder(one_block(), DType::f32),
        batch(test::Batch::arbitrary(decoder.spec(), 1, sequence)),
        flight(decoder, batch.whole()) {
    decoder.initialise(0);
    decoder.zero_grads();
  }
  test::Decoder decoder;
  test::Batch batch;
  test::Flight flight;
};

void report(benchmark::State& state, double flops) {
  state.counters["GFLOP"] = benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

/// Returns the forward FLOP of a unit's matmuls and causal attention: multiply-adds, times two.
double forward_flops(std::size_t unit) {
  const model::ModelSpec spec = one_block();
  const double rows = sequence, hidden = double(spec.hidden), half_square = rows * rows / 2;
  if (unit == head) return 3 * 2 * rows * hidden * double(spec.vocabulary);  // with the head's gradients
  const double matrices = model::unit_flops_per_token(spec, 0)[block].forward;
  return unit == block ? rows * matrices + 4 * half_square * hidden : 0;
}

void BM_forward(benchmark::State& state, std::size_t unit) {
  Rig rig;
  const Context context(static_cast<int>(state.range(0)), Device::host());
  rig.flight.forward(context);
  for (auto _ : state) rig.flight.forward(context, unit);
  report(state, forward_flops(unit));
}

void BM_backward_input(benchmark::State& state, std::size_t unit) {
  Rig rig;
  const Context context(static_cast<int>(state.range(0)), Device::host());
  for (auto _ : state) {
    state.PauseTiming();  // the saved values of a forward serve one backward
    rig.flight.forward(context);
    for (std::size_t u = head; u > unit; --u) rig.flight.backward_input(context, u);
    state.ResumeTiming();
    rig.flight.backward_input(context, unit);
  }
  report(state,
         unit == block ? forward_flops(unit) + 3 * double(sequence) * sequence * 768 : forward_flops(unit));
}

void BM_backward_weight(benchmark::State& state, std::size_t unit) {
  Rig rig;
  const Context context(static_cast<int>(state.range(0)), Device::host());
  rig.flight.forward(context);
  for (std::size_t u = head + 1; u-- > unit;) rig.flight.backward_input(context, u);
  for (auto _ : state) rig.flight.backward_weight(context, unit);
  report(state,
         unit == block ? forward_flops(unit) - 2 * double(sequence) * sequence * 768 : forward_flops(unit));
}

/// Measures the initial values of a matrix of 64 Mi elements.
void BM_initial_weights(benchmark::State& state) {
  const model::ParamSpec param{
      "layers.0.mlp.up.weight", {8192, 8192}, {model::Init::Kind::normal, 0.02}, true, {}};
  const test::OwnedTensor values(DType::f32, param.shape);
  for (auto _ : state)
    model::initialise(param, 0, Piece::whole(param.shape), values.tensor, static_cast<int>(state.range(0)));
  state.SetItemsProcessed(state.iterations() * param.shape.numel());
}

const int threads = static_cast<int>(std::thread::hardware_concurrency());
#define DT_BENCH(half, unit) \
  BENCHMARK_CAPTURE(half, unit, unit)->Arg(1)->Arg(threads)->Unit(benchmark::kMillisecond)->UseRealTime()
DT_BENCH(BM_forward, embedding);
DT_BENCH(BM_forward, block);
DT_BENCH(BM_forward, head);
DT_BENCH(BM_backward_input, block);
DT_BENCH(BM_backward_weight, embedding);
DT_BENCH(BM_backward_weight, block);
BENCHMARK(BM_initial_weights)->Arg(1)->Arg(threads)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
