#include "kernels/elementwise.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>

#include "base/numeric/exact_sum.hpp"
#include "kernels/fixture.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::kernels::test {
namespace {

const std::int64_t counts[] = {1, 15, 16, 33, 4095, 4096, 4097, 70001};

TEST_CASE("add, copy and zero") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(context, dtype);
    const Tensor a = f.values({3}, {1, 2, 3}), b = f.values({3}, {10, 20, 30}), y = f.output({3});
    add(context, a, b, y);
    CHECK(to_doubles(y) == std::vector<double>{11, 22, 33});
    add(context, y, y, y);
    CHECK(to_doubles(y) == std::vector<double>{22, 44, 66});
    copy(context, a, y);
    CHECK(same_bits(a, y));
    zero(context, y);
    CHECK(to_doubles(y) == std::vector<double>{0, 0, 0});
  }
  Fixture f(context, DType::f32);
  const Tensor ids = f.ids({1, 2, 3}), other = f.ids({7, 8, 9});
  copy(context, ids, other);  // any dtype
  CHECK(same_bits(ids, other));
}

TEST_CASE("fill rounds its value to the dtype, and keeps the sign of zero", "[device]") {
  const auto check = [](Fixture& f) {
    for (const double value : {-0.0, 1.0 / 3}) {
      const Tensor y = f.output({1000});
      fill(f.context, value, y);
      const Tensor expected = f.values({1000}, std::vector<double>(1000, value));
      CHECK(same_bits(f.on_host(y), f.on_host(expected)));
      CHECK(std::signbit(to_doubles(f.on_host(y))[999]) == std::signbit(value));
    }
  };
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    const Context context(1, Device::host());
    Fixture host(context, dtype);
    check(host);
    on_test_device(dtype, 1, [&](Fixture& f) { check(f); });
  }
}

TEST_CASE("add_bias_residual adds what there is of both, and y may lie over x or the residual") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(context, dtype);
    const Tensor x = f.values({2, 2}, {1, 2, 3, 4}), bias = f.values({2}, {10, 20}), y = f.output({2, 2});
    const Tensor residual = f.values({2, 2}, {100, 200, 300, 400});
    add_bias_residual(context, x, bias, residual, y);
    CHECK(to_doubles(y) == std::vector<double>{111, 222, 313, 424});
    add_bias_residual(context, x, Tensor(), Tensor(), y);
    CHECK(same_bits(x, y));
    add_bias_residual(context, x, Tensor(), residual, residual);
    CHECK(to_doubles(residual) == std::vector<double>{101, 202, 303, 404});
    add_bias_residual(context, x, bias, Tensor(), x);
    CHECK(to_doubles(x) == std::vector<double>{11, 22, 13, 24});
  }
}

TEST_CASE("scale_add scales, adds a residual, and y may lie over either") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    Fixture f(context, dtype);
    const Tensor x = f.values({3}, {1, -2, 4}), residual = f.values({3}, {10, 20, 30}), y = f.output({3});
    scale_add(context, 0.5, x, Tensor(), y);
    CHECK(to_doubles(y) == std::vector<double>{0.5, -1, 2});
    scale_add(context, 0.5, x, residual, y);
    CHECK(to_doubles(y) == std::vector<double>{10.5, 19, 32});
    scale_add(context, 2, x, residual, residual);
    CHECK(to_doubles(residual) == std::vector<double>{12, 16, 38});
    scale_add(context, 2, x, y, x);
    CHECK(to_doubles(x) == std::vector<double>{12.5, 15, 40});
    scale_add(context, 2, x, Tensor(), x);
    CHECK(to_doubles(x) == std::vector<double>{25, 30, 80});
  }
}

TEST_CASE("fast scale_add agrees with its reference", "[device]") {
  for (const std::int64_t count : counts) {
    for (const bool has_residual : {false, true}) {
      const Case run = [=](Fixture& f) -> std::vector<Tensor> {
        const Tensor y = f.output({count});
        scale_add(f.context, 0.7, f.random({count}, 1), has_residual ? f.random({count}, 2) : Tensor(), y);
        return {y};
      };
      check_fast_kernel(run);
      check_fast_half_kernel(run, Threads::any, 4e-3);
      check_gpu_kernel(run);
    }
  }
}

TEST_CASE("add_bias_residual rounds a 16-bit sum once") {
  const Context context(1, Device::host());
  Fixture h(context, DType::bf16);
  const Tensor y = h.output({1, 1});
  // In bf16, 256 + 1 would be 256.
  add_bias_residual(context, h.values({1, 1}, {256}), h.values({1}, {1}), h.values({1, 1}, {1}), y);
  CHECK(to_doubles(y)[0] == 258);
}

TEST_CASE("fast add_bias_residual has its reference's bits in fp32", "[device]") {
  struct Sizes {
    std::int64_t R, N;
  };
  for (const auto& [R_, N_] : {Sizes{1, 1}, Sizes{3, 7}, Sizes{5, 64}, Sizes{67, 769}}) {
    const std::int64_t R = R_, N = N_;
    for (const bool has_bias : {false, true}) {
      for (const bool has_residual : {false, true}) {
        const Case run = [=](Fixture& f) -> std::vector<Tensor> {
          const Tensor y = f.output({R, N});
          add_bias_residual(f.context, f.random({R, N}, 1), has_bias ? f.random({N}, 2, 0.3) : Tensor(),
                            has_residual ? f.random({R, N}, 3, 70) : Tensor(), y);
          return {y};
        };
        check_fast_kernel(run, Threads::any, 1e-30);
        check_fast_half_kernel(run, Threads::any, 4e-3);
        check_gpu_kernel(run);
        check_gpu_places(run);
      }
    }
  }
}

TEST_CASE("accumulate adds, and rounds a bf16 sum once") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(context, dtype);
    const Tensor sum = f.values({3}, {10, 20, 30});
    accumulate(context, f.values({3}, {1, 2, 3}), sum);
    CHECK(to_doubles(sum) == std::vector<double>{11, 22, 33});
  }
  Fixture f(context, DType::f32), h(context, DType::bf16);
  const Tensor sum = h.values({2}, {256, 256});
  accumulate(context, f.values({2}, {1, 1.01}), sum);  // in bf16, 1.01 would be 1.0078
  CHECK(to_doubles(sum) == std::vector<double>{256, 258});
}

TEST_CASE("fast elementwise kernels agree with their references", "[device]") {
  for (const std::int64_t count : counts) {
    INFO("count " << count);
    const Case run = [=](Fixture& f) -> std::vector<Tensor> {
      const Tensor a = f.random({count}, 1), y = f.output({count}), z = f.output({count}),
                   w = f.output({count}), sum = f.random_gradient({count}, 3, false);
      add(f.context, a, f.random({count}, 2), y);
      copy(f.context, y, z);
      zero(f.context, w);
      accumulate(f.context, f.wide_random({count}, 4), sum);
      return {y, z, w, sum};
    };
    check_fast_kernel(run, Threads::any, 1e-30);
    check_fast_half_kernel(run, Threads::any, 4e-3);
    check_gpu_kernel(run);
    if (count < 5000) check_gpu_places(run);
    const Case squares = [=](Fixture& f) -> std::vector<Tensor> {
      const Tensor partials = f.output_f64({num_sum_blocks(count)});
      sum_squares_by_block(f.context, f.random({count}, 1), partials);
      return {partials};
    };
    check_fast_kernel(squares, Threads::any, 1e-13);
    check_fast_half_kernel(squares, Threads::any, 1e-13);
    check_gpu_kernel(squares);
    if (count < 5000) check_gpu_places(squares);
  }
}

TEST_CASE("sums of squares are kept apart by blocks of 4,096") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(context, dtype);
    std::vector<double> values(4097, 0.0), partials(2, -1);
    values[0] = 3, values[4095] = 4, values[4096] = 5;
    sum_squares_by_block(context, f.values({4097}, values), host_tensor(partials));
    CHECK(partials == std::vector<double>{25, 25});
  }
}

TEST_CASE("sums of squares do not overflow fp32") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f32);
  std::vector<double> partials(1);
  sum_squares_by_block(context, f.values({2}, {1e30, 1e-30}), host_tensor(partials));
  CHECK(partials[0] == Approx(1e60).epsilon(1e-6));
}

using Digits = std::array<std::int64_t, ExactSum::num_digits + 1>;

Digits digits_of(const std::vector<double>& terms) {
  Digits digits{};
  ExactSum::add_to_digits(terms, digits);
  return digits;
}

TEST_CASE("exact sums have the same digits on a GPU", "[device]") {
  std::vector<double> terms{0, -0.0, 5e-324, -1.7e308, 1, -1e-300, 3.25, 1e15, -7};
  for (int i = 0; i < 3000; ++i) terms.push_back(std::ldexp(1.0 + i, i % 90 - 45) * (i % 3 - 1));
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{9}, terms.size()}) {
    std::vector<double> some(terms.begin(), terms.begin() + static_cast<std::ptrdiff_t>(count));
    if (count == 9) some.insert(some.end(), {NAN, INFINITY});
    on_test_device(DType::f64, count, [&](Fixture& f) {
      Digits sum = digits_of({1, 2});  // the digits that were there before
      const Tensor there = f.placed(host_tensor(sum)), numbers = f.placed(host_tensor(some));
      accumulate_exact(f.context, numbers, there);
      copy(f.context, there, host_tensor(sum));
      f.context.synchronize();
      std::vector<double> all = some;
      all.insert(all.end(), {1, 2});
      CHECK(sum == digits_of(all));
    });
  }
}

TEST_CASE("elementwise kernels refuse tensors that differ") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f32), g(context, DType::f64);
  const Tensor a = f.output({3}), b = f.output({4});
  check_refused("add", [&] { add(context, a, b, a); });
  check_refused("add", [&] { add(context, a, a, g.output({3})); });
  check_refused("copy", [&] { copy(context, a, b); });
  check_refused("convert", [&] { cast(context, a, b); });
  check_refused("accumulate", [&] { accumulate(context, a, b); });
  check_refused("accumulate", [&] { accumulate(context, a, g.output({3})); });
  const Tensor x = f.output({2, 3});
  const auto refused = [&](const Tensor& bias, const Tensor& residual, const Tensor& y) {
    check_refused("add_bias_residual", [&] { add_bias_residual(context, x, bias, residual, y); });
  };
  refused(b, Tensor(), x);
  refused(Tensor(), f.output({3, 2}), x);
  refused(Tensor(), Tensor(), f.output({3, 2}));
  refused(g.output({3}), Tensor(), x);
  std::vector<double> partials(2);
  check_refused("sum_squares_by_block", [&] { sum_squares_by_block(context, a, host_tensor(partials)); });
}

}  // namespace
}  // namespace dt::kernels::test
