#include "plan/time/roofline_operations.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "base/numeric/integer.hpp"

namespace dt::plan {

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

const char* kind_name(OperationKind kind) {
  switch (kind) {
    case OperationKind::matmul:
      return "products";
    case OperationKind::attention:
      return "attention";
    case OperationKind::memory:
      break;
  }
  return "memory";
}

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
