#pragma once
// The formats in which elements of matrices are multiplied.

#include <cstdint>

#include "base/text/enum_names.hpp"

namespace dt {

/// A format for products.
/// Numerics: each format gives its own bits. On a CPU they depend neither on sizes nor on the
/// number of threads.
enum class Arithmetic : std::uint8_t {
  fp32,          // operands are widened to fp32 first
  bf16,          // pairs of bf16 by AVX512_BF16's vdpbf16ps
  amx,           // tiles of bf16 by AMX's tdpbf16ps
  amx_by_loops,  // the bits of amx by plain loops, for tests on processors without AMX
  tf32           // on GPUs: fp32 rounded to TF32 (10 bits of mantissa), with sums in fp32
};

/// The names in options, manifests and messages.
constexpr auto enum_names(Arithmetic) {
  using enum Arithmetic;
  return std::to_array<EnumName<Arithmetic>>(
      {{"fp32", fp32}, {"bf16", bf16}, {"amx", amx}, {"amx-by-loops", amx_by_loops}, {"tf32", tf32}});
}

}  // namespace dt
