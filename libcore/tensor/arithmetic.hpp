#pragma once
// What elements of matrices are multiplied in.

#include <cstdint>
#include <optional>
#include <string_view>

namespace dt {

/// Each has bits of its own; within one, a CPU's depend neither on sizes nor on threads.
enum class Arithmetic : std::uint8_t {
  fp32,          // operands are widened to fp32 first
  bf16,          // pairs of bf16 by AVX512_BF16's vdpbf16ps
  amx,           // tiles of bf16 by AMX's tdpbf16ps
  amx_by_loops,  // the bits of amx by plain loops: for tests where the processor has no such tiles
  tf32           // on GPUs: fp32 rounded to TF32, to 10 bits of mantissa, and added up in fp32
};

/// "fp32", "bf16", "amx", ...: as options, manifests and messages name it.
std::string_view arithmetic_name(Arithmetic arithmetic);
/// Nothing for an unknown name.
std::optional<Arithmetic> parse_arithmetic(std::string_view name);

}  // namespace dt
