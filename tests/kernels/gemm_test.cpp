#include "kernels/cpu/gemm/gemm.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "kernels/gemm_cases.hpp"

namespace dt::kernels::cpu {
namespace {

using namespace gemm_test;
using test::for_each_instruction_set;

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
  // Loops over all of a large product would take minutes. Of many rows every 11th is computed, and the
  // last ones; of many columns every 7th, others in the next row, and the last one.
  const std::int64_t step = c.M < 100 ? 1 : 11, column_step = c.N < 100 ? 1 : 7;
  std::int64_t first_column = 0;
  for (std::int64_t i = 0; i < c.M; i += i < c.M - step ? step : 1) {
    first_column = (first_column + 1) % column_step;
    for (std::int64_t j = first_column; j < c.N; j += j < c.N - column_step ? column_step : 1) {
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
