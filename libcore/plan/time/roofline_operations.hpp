#pragma once
// Lists the operations of a training step on a GPU, and the time that each takes at least: a roofline
// of products, memory and launches.

#include <cstdint>
#include <string>
#include <vector>

#include "plan/time/roofline_rates.hpp"

namespace dt::plan {

enum class OperationKind { matmul, attention, memory };
/// Returns "products", "attention" or "memory".
const char* kind_name(OperationKind kind);

struct Operation {
  std::string name;
  OperationKind kind = OperationKind::memory;
  double count = 1;  // times a step

  // product: output_MN of K terms each, from 16-bit factors.
  std::int64_t M = 0, N = 0, K = 0;
  double result_bytes = 2;  // bytes of an element that are written, and read if it is added to
  bool is_aligned = true;

  // attention: values of a micro-batch.
  double flops = 0;
  double flops_per_s = 0;  // on H100

  /// memory: all bytes; attention: those moved while it computes; product: those beside factors and
  /// result.
  double bytes = 0;
  /// memory: the part of a copy's rate that the kernel reaches, for the last wave's SMs and its
  /// instructions.
  double efficiency = 1;
  int kernels = 1;  // launches of one of `count`

  static Operation matmul(std::string name, std::int64_t M, std::int64_t N, std::int64_t K);
  static Operation memory(std::string name, double bytes, int kernels = 1);
};

/// The tile and the split of K with which a product takes least time, and the part of its waves that
/// its tiles fill.
struct MatmulTiling {
  std::int64_t tile_m = 0, tile_n = 0, split = 1;
  std::int64_t waves = 0;
  double wave_efficiency = 0;
};
MatmulTiling matmul_tiling(const Operation& product, const GpuRates& rates);

/// Return the seconds of one operation, of all `count` of it, and of a list.
double seconds_per_call(const Operation& operation, const GpuRates& rates);
double seconds_of(const Operation& operation, const GpuRates& rates);
double seconds_of(const std::vector<Operation>& operations, const GpuRates& rates);

}  // namespace dt::plan
