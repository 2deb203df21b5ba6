#pragma once
// What of a matrix product is compiled once per instruction set.

#include <cstdint>

#include "base/dtype.hpp"
#include "kernels/cpu/ahead.hpp"

namespace dt::kernels::cpu {

/// What a panel's unit is made of: an element widened to fp32, or a pair of bf16 along k.
enum class Units : std::uint8_t { f32, bf16, f16, bf16_pairs };

/// Rows of a, or columns of b, that are to be packed into panels; element (i, k) lies at `data` + i · stride
/// + k where k is contiguous, else at i + k · stride.
struct Unpacked {
  const std::byte* data;
  std::int64_t stride;
  bool k_contiguous;
  Units units;
};

/// Sums on their way to c.
struct Finish {
  std::int64_t rows, columns;
  const float* sums;
  std::int64_t sums_stride;
  DType dtype;
  void* c;
  std::int64_t c_stride;
  bool accumulate;
  const float* bias;
  const void* residual;
  std::int64_t residual_stride;
  bool past_caches;
};

using Tile = void(std::int64_t rows, std::int64_t K, const float* a, const float* b, float* c,
                  std::int64_t c_row, bool add, const Ahead& ahead);
/// Packs `count` rows or columns, and zeros up to a whole pack group, over `K` elements; panels lie one after
/// another.
using Pack = void(const Unpacked& source, std::int64_t count, std::int64_t K, float* panels);

struct PanelKind {
  std::int64_t width;  // rows or columns of a panel
  std::int64_t group;  // packed at a time: a multiple of width
  Pack* pack;
};

/// Units of k whose products vectors sum in one chain: what makes the bits, so it is one constant. Its panels
/// of B fill the L1 cache.
inline constexpr std::int64_t vector_chain = 160;
/// Tiles go on from the sum so far, so that this one makes no bits: half an L1 cache of B.
inline constexpr std::int64_t tiles_chain = 192;

/// Of one kind of arithmetic.
struct GemmKernels {
  PanelKind a, b;
  Tile* tile;
  std::int64_t unit_elements;  // of k
  std::int64_t unit_group;     // units of a panel are a multiple of it
  std::int64_t chain;          // units that a call of `tile` is given at the most, see gemm.cpp
  /// Inner dimensions up to so many units are packed whole; longer ones in parts, between which sums are
  /// kept.
  std::int64_t most_whole_units, units_of_part;
  std::int64_t most_block_units, most_block_rows;  // of A that a thread packs at once
  bool fetches_c_to_write;                         // memory is asked for a C that is only written, too
  std::int64_t past_caches_from;                   // bytes of a C that is stored past the caches
  void (*finish)(const Finish& job);
  void (*widen)(DType dtype, const void* from, std::int64_t count, float* to);

  /// Units that a panel has over K elements.
  std::int64_t units(std::int64_t K) const {
    const std::int64_t elements = unit_elements * unit_group;
    return (K + elements - 1) / elements * unit_group;
  }
};

}  // namespace dt::kernels::cpu
