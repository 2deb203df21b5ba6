#pragma once
// Matrix products of every format, shared by the tests of the CPU's products.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "kernels/arithmetic.hpp"
#include "kernels/cpu/gemm/gemm.hpp"
#include "kernels/fixture.hpp"
#include "tensor/buffer.hpp"

namespace dt::kernels::cpu::gemm_test {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// Rounds to nearest, ties to even, one value at a time and by other means than the kernels.
inline std::uint16_t to_half(double value, int mantissa_bits, int least_exponent, std::uint16_t infinite) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::abs(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(infinite | 1U << (mantissa_bits - 1));
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign | infinite);
  const int exponent = magnitude == 0 ? least_exponent : std::max(std::ilogb(magnitude), least_exponent);
  const double steps = std::nearbyint(std::ldexp(magnitude, mantissa_bits - exponent));
  const auto bits =
      static_cast<std::int64_t>(exponent - least_exponent) * (std::int64_t{1} << mantissa_bits) +
      static_cast<std::int64_t>(steps);
  return static_cast<std::uint16_t>(sign | std::min<std::int64_t>(bits, infinite));
}

inline double from_half(std::uint16_t half, int mantissa_bits, int least_exponent, std::uint16_t infinite) {
  const int magnitude = half & 0x7fff, one = 1 << mantissa_bits;
  const double sign = half & 0x8000 ? -1 : 1;
  if (magnitude > infinite) return nan;
  if (magnitude == infinite) return sign * infinity;
  if (magnitude < one) return sign * std::ldexp(magnitude, least_exponent - mantissa_bits);
  return sign * std::ldexp(magnitude % one + one, magnitude / one - 1 + least_exponent - mantissa_bits);
}

/// A matrix in memory that starts `misaligned` elements after an aligned address.
class Values {
 public:
  Values(DType dtype, std::int64_t count, std::int64_t misaligned = 0)
      : dtype_(dtype),
        count_(count),
        misaligned_(misaligned),
        buffer_(Device::host(), static_cast<std::size_t>(count + misaligned) * dtype_bytes(dtype)) {}

  static Values random(DType dtype, std::int64_t count, std::uint64_t seed, std::int64_t misaligned = 0) {
    Values values(dtype, count, misaligned);
    std::uint64_t state = seed * 0x9e3779b97f4a7c15 + 1;
    for (std::int64_t i = 0; i < std::min(count, period); ++i) {
      state = state * 6364136223846793005 + 1442695040888963407;
      values.set(i, static_cast<double>(state >> 40) / (1 << 23) - 1);
    }
    const auto element = static_cast<std::int64_t>(dtype_bytes(dtype));
    for (std::int64_t i = period; i < count; i += period)
      std::copy_n(values.data(), std::min(period, count - i) * element, values.data() + i * element);
    return values;
  }

  std::byte* data() const {
    return buffer_.data() + static_cast<std::size_t>(misaligned_) * dtype_bytes(dtype_);
  }
  void set(std::int64_t i, double value) {
    if (dtype_ == DType::f32) {
      const auto rounded = static_cast<float>(value);
      std::memcpy(data() + i * 4, &rounded, 4);
      return;
    }
    const std::uint16_t half =
        dtype_ == DType::bf16 ? to_half(value, 7, -126, 0x7f80) : to_half(value, 10, -14, 0x7c00);
    std::memcpy(data() + i * 2, &half, 2);
  }
  double operator[](std::int64_t i) const {
    if (dtype_ == DType::f32) {
      float value = 0;
      std::memcpy(&value, data() + i * 4, 4);
      return value;
    }
    std::uint16_t half = 0;
    std::memcpy(&half, data() + i * 2, 2);
    return dtype_ == DType::bf16 ? from_half(half, 7, -126, 0x7f80) : from_half(half, 10, -14, 0x7c00);
  }
  std::vector<double> doubles() const {
    std::vector<double> all(static_cast<std::size_t>(count_));
    for (std::int64_t i = 0; i < count_; ++i) all[static_cast<std::size_t>(i)] = (*this)[i];
    return all;
  }
  std::vector<std::byte> bytes() const {
    return {data(), data() + static_cast<std::size_t>(count_) * dtype_bytes(dtype_)};
  }

 private:
  /// Random values repeat after this many elements, a prime that no stride or block is a multiple of.
  static constexpr std::int64_t period = 65537;
  DType dtype_;
  std::int64_t count_, misaligned_;
  Buffer buffer_;
};

/// The operands and options of a product. `run` makes the operands from fixed seeds.
struct Case {
  std::int64_t M, N, K;
  DType operands = DType::f32, output = DType::f32;
  Arithmetic arithmetic = Arithmetic::fp32;
  bool a_transposed = false, b_transposed = false, accumulate = false, bias = false, residual = false,
       residual_is_c = false;
  std::int64_t gap = 0;  // elements between stored rows
  std::int64_t misaligned = 0;
  int threads = 1;
};

struct Operands {
  explicit Operands(const Case& c)
      : a_stride((c.a_transposed ? c.M : c.K) + c.gap),
        b_stride((c.b_transposed ? c.K : c.N) + c.gap),
        c_stride(c.N + c.gap),
        a(Values::random(c.operands, (c.a_transposed ? c.K : c.M) * a_stride, 1, c.misaligned)),
        b(Values::random(c.operands, (c.b_transposed ? c.N : c.K) * b_stride, 2, c.misaligned)),
        c(Values::random(c.output, c.M * c_stride, 3, c.misaligned)),
        bias(Values::random(c.operands, c.N, 4, c.misaligned)),
        residual(Values::random(c.output, c.M * c_stride, c.residual_is_c ? 3 : 5, c.misaligned)) {}

  std::int64_t a_stride, b_stride, c_stride;
  Values a, b, c, bias, residual;
};

inline void multiply(const Context& context, const Case& c, const Operands& o) {
  Product p{};
  p.M = c.M;
  p.N = c.N;
  p.K = c.K;
  p.operands = c.operands;
  p.a = {o.a.data(), o.a_stride, c.a_transposed};
  p.b = {o.b.data(), o.b_stride, c.b_transposed};
  p.output = c.output;
  p.c = o.c.data();
  p.c_stride = o.c_stride;
  p.accumulate = c.accumulate;
  p.bias = c.bias ? o.bias.data() : nullptr;
  p.bias_dtype = c.operands;
  if (c.residual) p.residual = c.residual_is_c ? o.c.data() : o.residual.data();
  p.residual_stride = o.c_stride;
  p.arithmetic = c.arithmetic;
  cpu::multiply(context, p);
}

struct Formats {
  DType operands, output;
  Arithmetic arithmetic;
};
constexpr Formats formats[] = {
    {DType::f32, DType::f32, Arithmetic::fp32},          {DType::f32, DType::bf16, Arithmetic::fp32},
    {DType::bf16, DType::bf16, Arithmetic::fp32},        {DType::bf16, DType::f32, Arithmetic::fp32},
    {DType::f16, DType::f16, Arithmetic::fp32},          {DType::f16, DType::f32, Arithmetic::fp32},
    {DType::bf16, DType::bf16, Arithmetic::bf16},        {DType::bf16, DType::f32, Arithmetic::bf16},
    {DType::bf16, DType::bf16, Arithmetic::amx},         {DType::bf16, DType::f32, Arithmetic::amx},
    {DType::bf16, DType::bf16, Arithmetic::amx_by_loops}};

/// Calls body(case) for each format that this instruction set multiplies.
inline void for_each_format(const Case& shape, const std::function<void(const Case&)>& body) {
  for (const Formats& f : formats) {
    if (!arithmetic_unavailable_reason(f.arithmetic).empty()) continue;
    INFO(dtype_name(f.operands) << " to " << dtype_name(f.output) << " by " << name_of(f.arithmetic));
    Case c = shape;
    c.operands = f.operands;
    c.output = f.output;
    c.arithmetic = f.arithmetic;
    body(c);
  }
}

struct Sizes {
  std::int64_t M, N, K;
};

}  // namespace dt::kernels::cpu::gemm_test
