#include "kernels/cpu/gemm/gemm.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "kernels/fixture.hpp"
#include "tensor/buffer.hpp"

namespace dt::kernels::cpu {
namespace {

using test::for_each_instruction_set;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// Rounds to nearest, ties to even, one value at a time and by other means than the kernels.
std::uint16_t to_half(double value, int mantissa_bits, int least_exponent, std::uint16_t infinite) {
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

double from_half(std::uint16_t half, int mantissa_bits, int least_exponent, std::uint16_t infinite) {
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
    for (std::int64_t i = 0; i < count; ++i) {
      state = state * 6364136223846793005 + 1442695040888963407;
      values.set(i, static_cast<double>(state >> 40) / (1 << 23) - 1);
    }
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

void multiply(const Context& context, const Case& c, const Operands& o) {
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

std::vector<std::byte> run(const Case& c) {
  const Context context(c.threads, Device::host());
  const Operands o(c);
  multiply(context, c, o);
  const std::size_t capacity = context.scratch().capacity_bytes();
  const Operands again(c);
  multiply(context, c, again);
  CHECK(context.scratch().capacity_bytes() <= capacity);
  CHECK(o.c.bytes() == again.c.bytes());
  return o.c.bytes();
}

/// Returns half a unit in the last place of the format, relative, beyond fp32's own errors.
double rounding(DType dtype) {
  return dtype == DType::f32 ? 0 : dtype == DType::bf16 ? 1.0 / 256 : 1.0 / 2048;
}

void check_against_plain_loops(const Case& c) {
  const Context context(c.threads, Device::host());
  const Operands o(c), before(c);
  multiply(context, c, o);
  const std::vector<double> a = o.a.doubles(), b = o.b.doubles();
  const std::int64_t a_row = c.a_transposed ? 1 : o.a_stride, a_k = c.a_transposed ? o.a_stride : 1;
  const std::int64_t b_column = c.b_transposed ? o.b_stride : 1, b_k = c.b_transposed ? 1 : o.b_stride;
  double worst = 0;
  bool gaps_are_untouched = true;
  const std::int64_t step = c.M < 100 ? 1 : 11;  // loops over all of a large product would take minutes
  for (std::int64_t i = 0; i < c.M; i += i < c.M - step ? step : 1) {
    for (std::int64_t j = 0; j < c.N; ++j) {
      double sum = 0, magnitude = 0;
      const auto add = [&](double term) {
        sum += term;
        magnitude += std::abs(term);
      };
      for (std::int64_t k = 0; k < c.K; ++k) {
        add(a[static_cast<std::size_t>(i * a_row + k * a_k)] *
            b[static_cast<std::size_t>(j * b_column + k * b_k)]);
      }
      const std::int64_t at = i * o.c_stride + j;
      if (c.bias) add(o.bias[j]);
      if (c.residual) add(before.residual[at]);
      if (c.accumulate) add(before.c[at]);
      const double allowed = 1e-6 * magnitude + rounding(c.output) * std::abs(sum) + 1e-7;
      const double error = std::abs(o.c[at] - sum) / allowed;
      worst = std::max(worst, std::isnan(error) ? infinity : error);
    }
    for (std::int64_t j = c.N; j < o.c_stride; ++j) {
      gaps_are_untouched &= o.c[i * o.c_stride + j] == before.c[i * o.c_stride + j];
    }
  }
  CHECK(worst < 1.01);
  CHECK(gaps_are_untouched);
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
void for_each_format(const Case& shape, const std::function<void(const Case&)>& body) {
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
// The last sizes need more than one chain of k, more than one block of C, and more than is packed
// at once.
constexpr Sizes sizes[] = {{1, 1, 1},     {1, 7, 2},      {3, 5, 7},       {8, 32, 16},   {17, 33, 31},
                           {64, 48, 128}, {65, 130, 385}, {200, 800, 390}, {13, 20, 3500}};

TEST_CASE("a matrix product agrees with plain loops in every format, transposition and epilogue") {
  for_each_instruction_set([] {
    for (const auto& [M, N, K] : sizes) {
      for (int options = 0; options < 4; ++options) {
        Case shape{M, N, K};
        shape.a_transposed = options & 1;
        shape.b_transposed = options & 2;
        INFO(M << " × " << N << " × " << K << ", transposed " << options);
        shape.threads = 1 + options % 2;
        shape.gap = options == 2 ? 3 : 0;
        // Each epilogue meets each transposition, at some of the sizes.
        const int epilogue = static_cast<int>(M + N + K + options) % 5;
        shape.accumulate = epilogue == 1 || epilogue == 4;
        shape.bias = epilogue == 2 || epilogue == 3;
        shape.residual = epilogue >= 3;
        shape.residual_is_c = epilogue == 3;
        for_each_format(shape, check_against_plain_loops);
      }
    }
  });
}

TEST_CASE(
    "a matrix product packed in several parts, each for several stretches of k, agrees with plain loops") {
  for (const auto& [M, N, K] : {Sizes{2100, 30, 1700}, Sizes{30, 2100, 1700}}) {
    Case shape{M, N, K};
    shape.threads = 2;
    shape.accumulate = true;
    for_each_format(shape, check_against_plain_loops);
  }
}

TEST_CASE("every epilogue of a matrix product agrees with plain loops") {
  for_each_instruction_set([] {
    for (int options = 0; options < 16; ++options) {
      Case shape{19, 37, 400};
      shape.accumulate = options & 1;
      shape.bias = options & 2;
      shape.residual = options & 4;
      shape.residual_is_c = shape.residual && options & 8;
      INFO("epilogue " << options);
      for_each_format(shape, check_against_plain_loops);
    }
  });
}

TEST_CASE("a matrix product's bits do not depend on threads or on where its matrices lie") {
  for_each_instruction_set([] {
    for (const auto& [M, N, K] : {Sizes{65, 130, 385}, Sizes{200, 800, 50}, Sizes{13, 20, 3500}}) {
      for (int options = 0; options < 4; ++options) {
        Case shape{M, N, K};
        shape.a_transposed = options & 1;
        shape.b_transposed = options & 2;
        for_each_format(shape, [](const Case& c) {
          const std::vector<std::byte> expected = run(c);
          for (const int threads : {2, 3}) {
            Case other = c;
            other.threads = threads;
            CHECK(run(other) == expected);
          }
          for (const std::int64_t misaligned : {1, 3, 7, 15}) {
            Case other = c;
            other.misaligned = misaligned;
            CHECK(run(other) == expected);
          }
        });
      }
    }
  });
}

TEST_CASE("a row or a column of a matrix product has the bits that it has alone") {
  for_each_instruction_set([] {
    for (int options = 0; options < 4; ++options) {
      Case shape{201, 75, 801};
      shape.a_transposed = options & 1;
      shape.b_transposed = options & 2;
      for_each_format(shape, [](const Case& c) {
        const Context context(2, Device::host());
        const Operands o(c);
        multiply(context, c, o);
        const auto bytes = static_cast<std::int64_t>(dtype_bytes(c.output));
        const auto part = [&](std::int64_t i, std::int64_t j, std::int64_t M, std::int64_t N) {
          const auto in = static_cast<std::int64_t>(dtype_bytes(c.operands));
          Values out(c.output, M * N);
          Product p{};
          p.M = M;
          p.N = N;
          p.K = c.K;
          p.operands = c.operands;
          p.a = {o.a.data() + (c.a_transposed ? i : i * o.a_stride) * in, o.a_stride, c.a_transposed};
          p.b = {o.b.data() + (c.b_transposed ? j * o.b_stride : j) * in, o.b_stride, c.b_transposed};
          p.output = c.output;
          p.c = out.data();
          p.c_stride = N;
          p.arithmetic = c.arithmetic;
          cpu::multiply(context, p);
          bool same = true;
          for (std::int64_t r = 0; r < M; ++r) {
            same &= std::memcmp(out.data() + r * N * bytes, o.c.data() + ((i + r) * o.c_stride + j) * bytes,
                                static_cast<std::size_t>(N * bytes)) == 0;
          }
          return same;
        };
        CHECK(part(0, 0, 1, c.N));
        CHECK(part(200, 0, 1, c.N));
        CHECK(part(97, 0, 50, c.N));
        CHECK(part(0, 74, c.M, 1));
        CHECK(part(0, 33, c.M, 7));
        CHECK(part(5, 17, 3, 5));
      });
    }
  });
}

TEST_CASE("infinities and NaN reach the rows and columns that they enter, and no others") {
  for_each_instruction_set([] {
    for_each_format({20, 40, 33}, [](const Case& c) {
      const Context context(1, Device::host());
      Operands o(c);
      o.a.set(3 * o.a_stride + 5, nan);
      o.a.set(4 * o.a_stride + 32, infinity);
      o.b.set(7 * o.b_stride + 39, -infinity);
      multiply(context, c, o);
      bool holds = true;
      for (std::int64_t i = 0; i < c.M; ++i) {
        for (std::int64_t j = 0; j < c.N; ++j) {
          const double value = o.c[i * o.c_stride + j];
          if (i == 3) {
            holds &= std::isnan(value);
          } else if (i == 4 || j == 39) {
            holds &= !std::isfinite(value);
          } else {
            holds &= std::isfinite(value);
          }
        }
      }
      CHECK(holds);
    });
  });
}

TEST_CASE("operands and results of a matrix product are rounded and widened exactly") {
  for_each_instruction_set([] {
    for (const DType half : {DType::bf16, DType::f16}) {
      INFO(dtype_name(half));
      const Context context(1, Device::host());
      // Every half value times one goes to fp32 and back.
      constexpr std::int64_t count = 65536;
      Values halves(half, count), one(half, 1), wide(DType::f32, count), back(half, count),
          unit(DType::f32, 1);
      for (std::int64_t i = 0; i < count; ++i) {
        const auto bits = static_cast<std::uint16_t>(i);
        std::memcpy(halves.data() + 2 * i, &bits, 2);
      }
      one.set(0, 1);
      unit.set(0, 1);
      Product p{count, 1, 1, half, {halves.data(), 1}, {one.data(), 1}, DType::f32, wide.data(), 1};
      cpu::multiply(context, p);
      p = {count, 1, 1, DType::f32, {wide.data(), 1}, {unit.data(), 1}, half, back.data(), 1};
      cpu::multiply(context, p);
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        const bool is_nan = std::isnan(halves[i]);
        wrong += is_nan ? !std::isnan(wide[i]) || !std::isnan(back[i])
                        : wide[i] != halves[i] || back[i] != halves[i];
      }
      CHECK(wrong == 0);
      // These values lie between halves, from the smallest subnormal to beyond the largest.
      Values between(DType::f32, count);
      for (std::int64_t i = 0; i < count; ++i) {
        const auto bits = static_cast<std::uint32_t>(i * 65537 + (i % 3 == 0 ? 0x8000 - i % 2 : i % 7));
        std::memcpy(between.data() + 4 * i, &bits, 4);
      }
      p.a = {between.data(), 1};
      cpu::multiply(context, p);
      wrong = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        Values expected(half, 1);
        expected.set(0, between[i]);
        wrong += std::isnan(between[i]) ? !std::isnan(back[i]) : back[i] != expected[0];
      }
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("a matrix product refuses what it cannot multiply") {
  const Context context(1, Device::host());
  const Values x(DType::f32, 1);
  Product p{1, 1, 1, DType::f32, {x.data(), 1}, {x.data(), 1}, DType::f32, x.data(), 1};
  p.arithmetic = Arithmetic::bf16;
  CHECK_THROWS_AS(cpu::multiply(context, p), Error);
  p.arithmetic = Arithmetic::amx_by_loops;
  CHECK_THROWS_AS(cpu::multiply(context, p), Error);
  p.arithmetic = Arithmetic::fp32;
  p.output = DType::f64;
  CHECK_THROWS_AS(cpu::multiply(context, p), Error);
}

TEST_CASE("without a k to sum over a matrix product is its epilogue") {
  const Context context(1, Device::host());
  Case c{3, 5, 0};
  c.bias = true;
  const Operands o(c);
  multiply(context, c, o);
  for (std::int64_t i = 0; i < 15; ++i) CHECK(o.c[i] == o.bias[i % 5]);
}

}  // namespace
}  // namespace dt::kernels::cpu
