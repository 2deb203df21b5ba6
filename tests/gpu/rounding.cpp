// test_gpu_rounding [all]: checks that GPUs' instructions round fp32 to 16 bits, and widen 16 bits to fp32,
// as base/numeric/dtype.hpp does. CUDA's headers promise it for the host. Only NaNs differ. Both round in
// steps. So they are equal everywhere if they are equal beside every step. `all` checks every fp32, which
// takes a minute.

#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <string_view>

#include "base/numeric/dtype.hpp"

namespace {

std::uint64_t num_compared = 0, num_wrong = 0;

void check(bool is_right, const char* what, std::uint32_t from, std::uint32_t expected,
           std::uint32_t actual) {
  ++num_compared;
  if (!is_right && ++num_wrong <= 10)
    std::printf("%s of %08x: %04x, CUDA says %04x\n", what, from, actual, expected);
}

void compare_rounding(std::uint32_t bits) {
  const auto value = std::bit_cast<float>(bits);
  // The pair's other half is another value, which must not matter.
  const __nv_bfloat162 brain = __floats2bfloat162_rn(value, -value);
  const __half2 half = __floats2half2_rn(-value, value);
  std::uint16_t of_cuda[2];
  std::memcpy(&of_cuda[0], &brain.x, sizeof of_cuda[0]);
  std::memcpy(&of_cuda[1], &half.y, sizeof of_cuda[1]);
  const std::uint16_t of_dt[2] = {dt::f32_to_bf16(value), dt::f32_to_f16(value)};
  for (const int i : {0, 1}) {
    const std::uint16_t infinity = i == 0 ? 0x7F80 : 0x7C00;
    const bool is_right =
        value == value ? of_dt[i] == of_cuda[i] : of_cuda[i] == 0x7FFF && (of_dt[i] & 0x7FFF) > infinity;
    check(is_right, i == 0 ? "bf16" : "f16", bits, of_cuda[i], of_dt[i]);
  }
}

void compare_widening(std::uint16_t bits) {
  __half_raw raw;
  raw.x = bits;
  const __half half(raw);
  const float of_cuda = __half22float2(__half2(half, half)).x, of_dt = dt::f16_to_f32(bits);
  const bool is_right = of_cuda == of_cuda
                            ? std::bit_cast<std::uint32_t>(of_cuda) == std::bit_cast<std::uint32_t>(of_dt)
                            : of_dt != of_dt;
  check(is_right, "fp32 of f16", bits, std::bit_cast<std::uint32_t>(of_cuda),
        std::bit_cast<std::uint32_t>(of_dt));
}

}  // namespace

int main(int count, char** arguments) {
  const bool all = count > 1 && std::string_view(arguments[1]) == "all";
  for (std::uint32_t half = 0; half <= 0xFFFF; ++half) compare_widening(static_cast<std::uint16_t>(half));
  if (all) {
    for (std::uint64_t bits = 0; bits <= 0xFFFFFFFF; ++bits)
      compare_rounding(static_cast<std::uint32_t>(bits));
  } else {
    // Steps lie at values whose bits are 0 from some bit on: bit 15 or above for bf16, bit 12 or above for
    // f16. The smallest f16 lose more.
    for (std::uint64_t step = 0; step <= 0xFFFFFFFF; step += 1U << 12)
      for (const std::uint32_t beside : {0xFFFFFFFFU, 0U, 1U})
        compare_rounding(static_cast<std::uint32_t>(step) + beside);
  }
  std::printf("%llu compared, %llu wrong\n", static_cast<unsigned long long>(num_compared),
              static_cast<unsigned long long>(num_wrong));
  return num_wrong == 0 ? 0 : 1;
}
