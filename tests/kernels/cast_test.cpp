#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <span>

#include "base/numeric/dtype.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/fixture.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::kernels::test {
namespace {

using Catch::Contains;

constexpr std::int64_t patterns = 65536;

template <class T>
std::vector<T> all_patterns() {
  std::vector<T> values(patterns);
  for (std::size_t i = 0; i < patterns; ++i) values[i].bits = static_cast<std::uint16_t>(i);
  return values;
}

/// Returns numbers at which rounding to T decides: every T, the midpoints between neighbours, and
/// the floats next to both. Adds numbers beyond the largest T, and NaN of either sign with bits in
/// either half.
template <class T>
std::vector<float> floats_around() {
  std::vector<float> values;
  for (const T& half : all_patterns<T>()) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(half));
    const std::uint32_t halfway = std::same_as<T, BFloat16> ? 0x8000 : 0x1000;
    for (const std::uint32_t step : {0U, 1U, halfway - 1, halfway, halfway + 1}) {
      values.push_back(std::bit_cast<float>(bits + step));
    }
  }
  for (const std::uint32_t bits :
       {0x7f800001U, 0xff800001U, 0x7fc00000U, 0xffffffffU, 0x7f80ffffU, 0x7f810000U, 1U, 0x80000001U,
        0x33000000U, 0x33000001U, 0x477fefffU, 0x477ff000U}) {
    values.push_back(std::bit_cast<float>(bits));
  }
  return values;
}

template <class T>
void check_widening(const Context& context) {
  std::vector<T> source = all_patterns<T>();
  std::vector<float> target(patterns);
  cast(context, host_tensor(source), host_tensor(target));
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < patterns; ++i) {
    const auto exact = static_cast<float>(source[i]);
    const bool right = std::isnan(exact)
                           ? std::isnan(target[i])
                           : std::bit_cast<std::uint32_t>(target[i]) == std::bit_cast<std::uint32_t>(exact);
    wrong += !right;
  }
  CHECK(wrong == 0);
}

template <class T>
void check_rounding(const Context& context) {
  std::vector<float> source = floats_around<T>();
  std::vector<T> target(source.size());
  cast(context, host_tensor(source), host_tensor(target));
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const T exact(source[i]);
    const bool is_nan = std::isnan(source[i]) && std::isnan(static_cast<float>(target[i]));
    wrong += !is_nan && target[i].bits != exact.bits;
  }
  CHECK(wrong == 0);
}

TEST_CASE("every 16-bit float is widened, and every fp32 rounded, as in base/numeric/half.hpp") {
  const auto check = [](const Context& context) {
    check_widening<BFloat16>(context);
    check_widening<Float16>(context);
    check_rounding<BFloat16>(context);
    check_rounding<Float16>(context);
  };
  Context context(2, Device::host());
  for_each_instruction_set([&] { check(context); });
  context.set_reference_only(true);
  check(context);
}

TEST_CASE("convert takes any float dtype to any") {
  const Context context(1, Device::host());
  const std::vector<double> values{1, -0.5, 3, 0};
  for (const DType from : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    for (const DType to : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
      INFO(dtype_name(from) << " to " << dtype_name(to));
      Fixture source(context, from), target(context, to);
      const Tensor y = target.output({4});
      cast(context, source.values({4}, values), y);
      CHECK(to_doubles(y) == values);
    }
  }
  Fixture f(context, DType::f64);
  const Tensor y = f.output({1});
  cast(context, f.values({1}, {0.1}), y);  // fp64 keeps its digits
  CHECK(to_doubles(y)[0] == 0.1);
}

TEST_CASE("kernels refuse elements that they are not compiled for by name") {
  Context context(1, Device::host());
  std::vector<std::int32_t> integers(4);
  std::vector<float> floats(4);
  const Tensor from = host_tensor(integers), to = host_tensor(floats);
  CHECK_THROWS_WITH(cast(context, from, to), Contains("there is no CPU kernel for i32"));
  CHECK_THROWS_WITH(cast(context, to, from), Contains("there is no CPU kernel for i32"));
  CHECK_THROWS_WITH(fill(context, 1, from), Contains("there is no reference fill for i32"));
  CHECK_THROWS_WITH(cpu::accumulate(context, to, from), Contains("no CPU kernel for gradients for i32"));
  std::vector<Float16> halves(4);
  CHECK_THROWS_WITH(cpu::accumulate(context, to, host_tensor(halves)),
                    Contains("no CPU kernel for gradients for f16"));
  const Tensor rows = from.reshaped({1, 4});
  CHECK_THROWS_WITH(cpu::rotary(context, {}, from, {to, to}, false, rows), Contains("no CPU kernel for i32"));
  context.set_reference_only(true);
  CHECK_THROWS_WITH(cast(context, to, from), Contains("there is no reference cast for i32"));
}

TEST_CASE("converting gives the same bits for any number of threads and wherever the buffers lie",
          "[device]") {
  for (const std::int64_t count : {1, 17, 40001}) {
    const Case run = [=](Fixture& f) -> std::vector<Tensor> {
      const Tensor y = f.output({count}), back = f.wide_output({count});
      cast(f.context, f.wide_random({count}, 1), y);
      cast(f.context, y, back);
      return {y, back};
    };
    check_fast_kernel(run, Threads::any, 1e-30);
    check_fast_half_kernel(run, Threads::any, 1e-30);
    check_gpu_kernel(run);
    if (count < 5000) check_gpu_places(run);
  }
}

}  // namespace
TEST_CASE("columns of rows are converted on a GPU as on the CPU, from each dtype to each", "[device]") {
  constexpr DType dtypes[] = {DType::f64, DType::f32, DType::bf16, DType::f16};
  for (const DType from : dtypes)
    for (const DType to : dtypes)
      for (const std::int64_t width : {1, 8, 67, 600}) {
        INFO(dtype_name(from) << " to " << dtype_name(to) << ", " << width << " columns");
        check_gpu_as_cpu(from, [=](Fixture& f) -> std::vector<Tensor> {
          const Tensor x = f.random({9, width + 11}, 1), y = f.random_in(to, {9, width + 8}, 2);
          cast_columns(f.context, {x, 8}, {y, 5}, width);
          return {x, y};
        });
      }
}

TEST_CASE("columns of rows are converted as all of them are, and no others") {
  const Context context(GENERATE(1, 3), Device::host());
  constexpr std::int64_t rows = 700, stride = 150, width = 67, first = 5, other_stride = 90, other = 20;
  std::vector<float> source(rows * stride);
  for (std::size_t i = 0; i < source.size(); ++i)
    source[i] = 1.0F + 0.0009765625F * static_cast<float>(i % 999);
  const auto check = [&](auto element) {
    using T = decltype(element);
    std::vector<T> target(rows * other_stride, T(-3.0F));
    cast_columns(context, {host_tensor(source).reshaped({rows, stride}), first},
                 {host_tensor(target).reshaped({rows, other_stride}), other}, width);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < rows * other_stride; ++i) {
      const std::int64_t column = i % other_stride - other;
      const bool is_written = column >= 0 && column < width;
      const T expected(
          is_written ? source[static_cast<std::size_t>(i / other_stride * stride + first + column)] : -3.0F);
      wrong += static_cast<float>(target[static_cast<std::size_t>(i)]) != static_cast<float>(expected);
    }
    CHECK(wrong == 0);
  };
  check(float());
  check(BFloat16());
  check(Float16());
  check(double());
  std::vector<float> few(6);
  const ColumnBlock block{host_tensor(few).reshaped({2, 3}), 1};
  check_refused("convert_columns", [&] { cast_columns(context, block, block, 3); });
}

}  // namespace dt::kernels::test
