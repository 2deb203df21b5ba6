#pragma once
// The part of a matrix product that is compiled once per instruction set.

#include <cstdint>

#include "base/numeric/dtype.hpp"
#include "base/numeric/integer.hpp"
#include "kernels/cpu/gemm/tile_amx.hpp"
#include "tensor/context.hpp"

namespace dt::kernels::cpu {

/// Rows of a, or columns of b, before they are packed into panels. Element (i, k) is at
/// data + i · stride + k if k is contiguous, else at data + i + k · stride. The units of the panels are pairs
/// of bf16 along k, or else elements widened to fp32.
struct Unpacked {
  const std::byte* data;
  std::int64_t stride;
  bool k_contiguous;
  DType dtype;
  bool in_pairs;
};

/// Sums that are to be finished and written to c.
struct Epilogue {
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
  bool nontemporal;
};

using Tile = void(std::int64_t rows, std::int64_t K, const float* a, const float* b, float* c,
                  std::int64_t c_row, bool add, const Prefetch& prefetch);
/// Packs `count` rows or columns over `K` elements into consecutive panels. Pads with zeros up to a
/// whole pack group.
using Vec = void(const Unpacked& source, std::int64_t count, std::int64_t K, float* panels);

struct PanelKind {
  std::int64_t width;  // rows or columns of a panel
  std::int64_t group;  // rows or columns packed at a time: a multiple of width
  Vec* pack;
};

/// The units of k whose products vector kernels sum in one chain. The bits depend on it, so it is
/// one constant. Its panels of B fill the L1 cache.
inline constexpr std::int64_t vector_chain = 160;
/// The chain of tile kernels. They continue from the previous sum, so that it does not affect bits.
/// It is half an L1 cache of B.
inline constexpr std::int64_t tiles_chain = 192;

/// The kernels of one arithmetic.
struct GemmKernels {
  PanelKind a, b;
  Tile* tile;
  std::int64_t unit_elements;  // elements of k in a unit
  std::int64_t unit_group;     // units of a panel are a multiple of it
  std::int64_t chain;          // most units for one call of `tile`, see gemm_kernels.cpp
  /// Inner dimensions of up to most_whole_units units are packed whole. Longer ones are packed in
  /// parts, and sums are kept between parts.
  std::int64_t most_whole_units, units_of_part;
  std::int64_t most_block_units, most_block_rows;  // for the part of A that a thread packs at once
  bool fetches_c_to_write;                         // also prefetches a C that is only written
  std::int64_t nontemporal_min_bytes;              // least bytes of a C that is stored by non-temporal stores
  void (*run_epilogue)(const Epilogue& job);
  void (*widen)(DType dtype, const void* from, std::int64_t count, float* to);

  /// Returns the units of a panel over K elements.
  std::int64_t units(std::int64_t K) const {
    const std::int64_t elements = unit_elements * unit_group;
    return ceil_div(K, elements) * unit_group;
  }
};

/// Returns the kernels of an arithmetic for the best instruction set of this machine.
GemmKernels gemm_kernels(Arithmetic arithmetic);
/// Returns whether that is AVX-512.
bool has_avx512();

}  // namespace dt::kernels::cpu
