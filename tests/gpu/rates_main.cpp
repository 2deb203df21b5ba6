// gpu_rates: prints a line for each of the kernels that memory bounds: the bytes that it moves a second on
// this machine's first GPU, and their share of a copy's rate. Then come the costs of launches. For products
// and attention as models have them, it prints their share of the libraries' fastest ways. The measured
// kernel follows a tab. Exit status: 77 if no GPU answers.

#include <cstdio>
#include <fmt/core.h>

#include "base/error.hpp"
#include "gpu/bytes.hpp"
#include "gpu/comparisons.hpp"
#include "gpu/launches.hpp"
#include "kernels/cuda/register_gpus.hpp"
#include "tensor/device/accelerator.hpp"

namespace dt::test_device {
namespace {

/// Returns "" if GPUs answer, else the reason.
std::string what_is_missing() {
  try {
    return accelerator().gpus().empty() ? "no GPU may be seen" : "";
  } catch (const Error& error) {
    return error.message();
  }
}

/// Layers of GPT-2 124M, and of a Llama with 1.1 billion parameters, for as many tokens as fill a GPU.
/// Heads have a chunk of these tokens.
const std::vector<Layer> layers{{"gpt2-124m qkv", 16384, 768, 2304, true, false},
                                {"gpt2-124m output", 16384, 768, 768, true, true},
                                {"gpt2-124m up", 16384, 768, 3072, true, false},
                                {"gpt2-124m down", 16384, 3072, 768, true, true},
                                {"gpt2-124m head", 4096, 768, 50257, false, false},
                                {"llama-1b qkv", 16384, 2048, 2560, false, false},
                                {"llama-1b output", 16384, 2048, 2048, false, true},
                                {"llama-1b gate and up", 16384, 2048, 11264, false, false},
                                {"llama-1b down", 16384, 5632, 2048, false, true},
                                {"llama-1b head", 8192, 2048, 32000, false, false}};

std::vector<kernels::AttentionShape> attention_shapes() {
  constexpr std::int64_t tokens = 16384, features = 2048;
  std::vector<kernels::AttentionShape> shapes;
  for (const std::int64_t D : {64, 128})
    for (std::int64_t T = 1024; T <= tokens; T *= 2)
      shapes.push_back({tokens / T, T, features / D, features / D, D});
  return shapes;
}

void print(const char* of, const char* library, const std::vector<Comparison>& all) {
  for (const Comparison& c : all) {
    fmt::print("{} {}\t{:.3f} ms", of, c.what, 1e3 * c.seconds);
    if (c.library)
      fmt::print(", {:.1f} % of the rate of {}'s fastest of {}", 100 * c.library->seconds / c.seconds,
                 library, c.library->ways);
    fmt::print("\n");
  }
}

void print_bytes(const Context& context, int times) {
  constexpr std::int64_t rows = 16384;  // no tensor fits a GPU's cache
  const std::vector<Rate> rates = kernel_rates(context, rows, times);
  for (const Rate& rate : rates) {
    const double share = rate.bytes_per_s() / rates.front().bytes_per_s();
    fmt::print("bytes of {}\t{:.0f} GB/s, {:.0f} % of a copy\n", rate.kernel, rate.bytes_per_s() / 1e9,
               100 * share);
  }
}

}  // namespace
}  // namespace dt::test_device

int main() {
  using namespace dt::test_device;
  constexpr int times = 50;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // measurements stay, whatever comes after
  dt::kernels::cuda::register_gpus();
  const std::string missing = what_is_missing();
  if (!missing.empty()) {
    fmt::print("SKIP: {}\n", missing);
    return 77;
  }
  constexpr dt::Device gpu = dt::Device::gpu(0);
  print_bytes(dt::Context(1, gpu), times);
  for (const LaunchTime& time : launch_times(times))
    fmt::print("host's time for {}\t{:.1f} µs, in graphs {:.1f}\n", time.kernel, 1e6 * time.one_by_one_s,
               1e6 * time.in_graphs_s);
  const dt::Context as_it_comes(gpu, "measuring");
  Measure measure(as_it_comes, times / 2);
  print("product", "cuBLASLt", compare_products(measure, layers, fastest_of_cublas_lt));
  print("attention", "cuDNN", compare_attention(measure, attention_shapes(), fastest_of_cudnn));
}
