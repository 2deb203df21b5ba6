#pragma once
// Operations of a training step on a GPU, and the time that each takes at least: a roofline of products,
// memory, launches and links.

#include <cstdint>
#include <string>
#include <vector>

#include "plan/roofline/rates.hpp"

namespace dt::plan {

enum class OperationKind { product, attention, memory, exchange };
/// "products", "attention", "memory", "exchanges"
const char* kind_name(OperationKind kind);

struct Operation {
  std::string name;
  OperationKind kind = OperationKind::memory;
  double count = 1;  // times a step

  // product: output_MN of K terms each, of factors of 16 bits.
  std::int64_t M = 0, N = 0, K = 0;
  double result_bytes = 2;  // of an element, written, and read where it is added to
  bool is_aligned = true;

  // attention: of a micro-batch.
  double flops = 0;
  double flops_s = 0;  // on H100

  /// memory: all; attention: while it computes; product: beside factors and result; exchange: sent, while
  /// nothing is computed.
  double bytes = 0;
  /// memory: the part of what the memory could do that the kernel does: the last wave's SMs, instructions.
  double efficiency = 1;
  int kernels = 1;  // that one of `count` launches

  static Operation product(std::string name, std::int64_t M, std::int64_t N, std::int64_t K);
  static Operation memory(std::string name, double bytes, int kernels = 1);
};

/// Returns how much of its waves a product's tiles fill, of the tile and the split of K that take least time.
struct ProductShape {
  std::int64_t tile_m = 0, tile_n = 0, split = 1;
  std::int64_t waves = 0;
  double filled = 0;
};
ProductShape shape_of(const Operation& product, const GpuRates& rates);

/// Seconds of one; of all `count` of them.
double seconds_of_one(const Operation& operation, const GpuRates& rates);
double seconds_of(const Operation& operation, const GpuRates& rates);
double seconds_of(const std::vector<Operation>& operations, const GpuRates& rates);

}  // namespace dt::plan
