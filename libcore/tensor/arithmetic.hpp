#pragma once
// The formats in which elements of matrices are multiplied.

#include <cstdint>
#include <optional>
#include <string_view>

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

/// Returns "fp32", "bf16", "amx", ...: the name in options, manifests and messages.
std::string_view arithmetic_name(Arithmetic arithmetic);
/// Returns the format of that name, or nothing if the name is unknown.
std::optional<Arithmetic> parse_arithmetic(std::string_view name);

}  // namespace dt
