#include "plan/time/roofline.hpp"

#include <algorithm>
#include <array>
#include <fmt/ranges.h>
#include <limits>
#include <vector>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"
#include "base/text/suggest.hpp"

namespace dt::plan {

namespace {

constexpr double tera = 1e12, giga = 1e9;

/// Source:
/// - SMs, peaks, memory: NVIDIA's whitepapers "A100 Tensor Core GPU Architecture" (80 GB) and "H100
///   Tensor Core GPU Architecture", data sheets of H200 and HGX B200 (with sparsity halved).
/// - Products, A100: 271.2 of 312 TFLOP/s, the best of many shapes (stas00/ml-engineering,
///   compute/accelerator, "Maximum Achievable Matmul FLOPS", v2). H100: 794.5 of 989 in the same
///   table, and 741 to 798 for sizes of 6144 and 8192 (pranjalssh/fast.cu). H200 is the same chip.
///   B200's rate is not published, and taken to be H100's. Products reach `chosen` of each.
/// - Links: 240, 360 and 720 GB/s, which NCCL's search finds for rings over NVLink (see
///   nccl/memory.cpp), less a twelfth. NVLink has not been measured.
/// - Attention: FlashAttention-2 (Dao 2023, figures 4 to 7) on A100, beside FlashAttention-3's
///   figures of H100 (below); B200 in proportion to its peak.
///
/// The algorithm that dt takes reaches 91 to 100 % of the rate of cuBLASLt's fastest for the shape,
/// measured on an H100 SXM (gpu-check, 2026-11): `chosen` is the middle. Few of the shapes do worse:
/// GPT-2's head (82.6 % forward), and products that make gradients of biases (88 to 93 %).
constexpr double chosen = 0.955;
constexpr std::array<GpuRates, 4> all_rates = {{
    {"a100", 108, 312 * tera, 0.869 * chosen, 2.039 * tera, 220 * giga, 0.5},
    {"h100", 132, 989.4 * tera, 0.803 * chosen, 3.35 * tera, 330 * giga, 1},
    {"h200", 132, 989.4 * tera, 0.803 * chosen, 4.8 * tera, 330 * giga, 1},
    {"b200", 148, 2250 * tera, 0.803 * chosen, 7.7 * tera, 660 * giga, 2.27},
}};

// TFLOP/s of H100 80GB SXM5 at 512, 1k, 2k, 4k, 8k and 16k, without a mask. `causal` is the rate of
// cuDNN with a causal mask at head size 128 in figure 5, beside the same without. The last three
// values of the backward pass at head size 64 follow the trend of head size 128. The deterministic
// backward pass reaches 82 % (1k) and 63 % (4k) of the rate of the fastest at head size 64. These
// percentages refer to cuDNN of 2026, whose own rate was not recorded: figures of 2024 stand for
// both.
// Source: "FlashAttention-3" (Shah et al. 2024), figures 5 and 6.
using BySequence = std::array<double, 6>;
constexpr BySequence cudnn_forward_64 = {335, 373, 395, 408, 412, 413},
                     cudnn_forward_128 = {497, 574, 617, 609, 600, 595},
                     cudnn_backward_64 = {266, 348, 395, 415, 425, 433},
                     cudnn_backward_128 = {305, 408, 465, 499, 518, 516},
                     flash_forward_64 = {282, 306, 318, 321, 322, 324},
                     flash_forward_128 = {309, 350, 362, 368, 370, 370},
                     flash_backward_64 = {198, 238, 264, 280, 288, 291},
                     flash_backward_128 = {214, 260, 291, 310, 318, 322},
                     causal = {0.634, 0.714, 0.784, 0.851, 0.882, 0.906};

const BySequence& table(AttentionLibrary library, Pass pass, bool is_wide) {
  if (library == AttentionLibrary::cudnn) {
    if (pass == Pass::forward) return is_wide ? cudnn_forward_128 : cudnn_forward_64;
    return is_wide ? cudnn_backward_128 : cudnn_backward_64;
  }
  if (pass == Pass::forward) return is_wide ? flash_forward_128 : flash_forward_64;
  return is_wide ? flash_backward_128 : flash_backward_64;
}

}  // namespace

std::span<const GpuRates> gpu_rates() {
  return all_rates;
}

std::vector<std::string> gpu_rate_names() {
  std::vector<std::string> names;
  for (const GpuRates& rates : all_rates) names.emplace_back(rates.name);
  return names;
}

const GpuRates& rates_of(std::string_view name) {
  const auto* const found = std::ranges::find(all_rates, name, &GpuRates::name);
  if (found != all_rates.end()) return *found;
  throw Error(ErrorKind::usage, fmt::format("--roofline {} is not a known GPU", name),
              did_you_mean(name, gpu_rate_names()) +
                  fmt::format("expected one of: {}", fmt::join(gpu_rate_names(), ", ")));
}

double causal_attention_flops(AttentionLibrary library, Pass pass, std::int64_t head_dim,
                              std::int64_t sequence) {
  std::size_t column = 0;
  for (std::int64_t length = 512; length < sequence && column + 1 < causal.size(); length *= 2) ++column;
  return table(library, pass, head_dim > 96).at(column) * causal.at(column) * tera;
}

namespace {

/// Tiles of cuBLAS's kernels for 16 bits, and the part of the rate of the largest that smaller ones reach.
struct Tile {
  std::int64_t m, n;
  double relative;
};
constexpr std::array<Tile, 5> tiles = {
    {{128, 256, 1}, {256, 128, 1}, {128, 128, 0.93}, {64, 256, 0.93}, {192, 128, 0.93}}};
constexpr std::array<std::int64_t, 8> splits = {1, 2, 3, 4, 6, 8, 12, 16};
constexpr std::int64_t shortest_split = 256;  // in terms of a sum

double achieved_bytes_s(const GpuRates& rates) {
  return rates.memory_bytes_s * memory_efficiency;
}

struct Choice {
  MatmulTiling shape;
  double seconds = std::numeric_limits<double>::infinity();
};

/// Chooses the tile and the split. Each wave computes as many tiles as there are SMs. A tile's
/// result is written when its sums are done, while its SM computes nothing. In addition, the parts
/// of a split sum are written and read in fp32.
Choice choose(const Operation& p, const GpuRates& rates) {
  const auto M = static_cast<double>(p.M), N = static_cast<double>(p.N), K = static_cast<double>(p.K);
  const double of_factors = (M * K + K * N) * 2 / achieved_bytes_s(rates);
  const double flops_of_sm = rates.peak_flops * rates.matmul_efficiency / rates.sms;
  Choice best;
  for (const Tile& tile : tiles) {
    const std::int64_t count = ceil_div(p.M, tile.m) * ceil_div(p.N, tile.n);
    for (const std::int64_t split : splits) {
      if (split > 1 && p.K / split < shortest_split) break;
      const std::int64_t waves = ceil_div(count * split, rates.sms);
      const double of_tile =
          2 * static_cast<double>(tile.m * tile.n) * K / static_cast<double>(split) / tile.relative;
      const double computing = static_cast<double>(waves) *
                               (of_tile / flops_of_sm * (p.is_aligned ? 1 : unaligned_factor) + wave_start_s);
      const double parts = split > 1 ? static_cast<double>(split) * M * N * 2 * sizeof(float) : 0;
      const double written = (M * N * p.result_bytes + parts + p.bytes) / achieved_bytes_s(rates);
      const double seconds = std::max(computing, of_factors) + written;
      if (seconds >= best.seconds) continue;
      const double filled = M * N / static_cast<double>(tile.m * tile.n) * static_cast<double>(split) /
                            static_cast<double>(waves * rates.sms);
      best = {{tile.m, tile.n, split, waves, filled}, seconds};
    }
  }
  return best;
}

}  // namespace

Operation Operation::matmul(std::string name, std::int64_t M, std::int64_t N, std::int64_t K) {
  Operation operation{.name = std::move(name), .kind = OperationKind::matmul};
  operation.M = M, operation.N = N, operation.K = K;
  return operation;
}

Operation Operation::memory(std::string name, double bytes, int kernels) {
  Operation operation{.name = std::move(name), .kind = OperationKind::memory};
  operation.bytes = bytes, operation.kernels = kernels;
  return operation;
}

MatmulTiling matmul_tiling(const Operation& product, const GpuRates& rates) {
  return choose(product, rates).shape;
}

double seconds_per_call(const Operation& operation, const GpuRates& rates) {
  const double gaps = operation.kernels * kernel_gap_s;
  switch (operation.kind) {
    case OperationKind::matmul:
      return choose(operation, rates).seconds + gaps;
    case OperationKind::attention:
      return std::max(operation.flops / (operation.flops_per_s * rates.attention_relative),
                      operation.bytes / achieved_bytes_s(rates)) +
             gaps;
    case OperationKind::memory:
      break;
  }
  return operation.bytes / (achieved_bytes_s(rates) * operation.efficiency) + gaps;
}

double seconds_of(const Operation& operation, const GpuRates& rates) {
  return operation.count * seconds_per_call(operation, rates);
}

double seconds_of(const std::vector<Operation>& operations, const GpuRates& rates) {
  double seconds = 0;
  for (const Operation& operation : operations) seconds += seconds_of(operation, rates);
  return seconds;
}

}  // namespace dt::plan
