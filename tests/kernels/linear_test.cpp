#include "kernels/linear.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <thread>

#include "base/numeric/dtype.hpp"
#include "kernels/arithmetic.hpp"
#include "kernels/cuda/matmul/matmul.hpp"
#include "kernels/fixture.hpp"

namespace dt::kernels::test {
namespace {

struct Sizes {
  std::int64_t R, N, K;
};
const Sizes sizes[] = {{1, 1, 1}, {3, 5, 7}, {64, 48, 32}, {67, 129, 65}, {130, 257, 515}};

TEST_CASE("linear multiplies by the transposed weight and adds the bias") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f64);
  const Tensor x = f.values({2, 2}, {1, 2, 3, 4});
  const Tensor w = f.values({3, 2}, {1, 0, 0, 1, 1, 1});
  const Tensor y = f.output({2, 3});
  linear(context, x, w, f.values({3}, {10, 20, 30}), Tensor(), y);
  CHECK(to_doubles(y) == std::vector<double>{11, 22, 33, 13, 24, 37});
  linear(context, x, w, Tensor(), Tensor(), y);
  CHECK(to_doubles(y) == std::vector<double>{1, 2, 3, 3, 4, 7});
}

TEST_CASE("linear adds a residual, which y may lie over") {
  for (const bool reference : {false, true}) {
    Context context(1, Device::host());
    context.set_reference_only(reference);
    Fixture f(context, DType::f32);
    const Tensor x = f.values({1, 2}, {1, 2}), w = f.values({2, 2}, {1, 0, 1, 1});
    const Tensor bias = f.values({2}, {10, 20}), residual = f.values({1, 2}, {100, 200}),
                 y = f.output({1, 2});
    linear(context, x, w, bias, residual, y);
    CHECK(to_doubles(y) == std::vector<double>{111, 223});
    linear(context, x, w, Tensor(), residual, residual);
    CHECK(to_doubles(residual) == std::vector<double>{101, 203});
  }
}

TEST_CASE("linear's weight and bias gradients are added to what is there") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f64);
  const Tensor dy = f.values({2, 1}, {2, 3}), x = f.values({2, 2}, {1, 2, 3, 4});
  const Tensor dw = f.values({1, 2}, {100, 200}), dbias = f.values({1}, {1000});
  linear_backward_weight(context, dy, x, dw, dbias);
  CHECK(to_doubles(dw) == std::vector<double>{111, 216});
  CHECK(to_doubles(dbias) == std::vector<double>{1005});
}

TEST_CASE("linear's backward halves are its gradients") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f64);
  const Tensor x = f.random({3, 4}, 1), w = f.random({5, 4}, 2), bias = f.random({5}, 3),
               dy = f.random({3, 5}, 4);
  const Tensor y = f.output({3, 5}), dx = f.output({3, 4});
  const Tensor dw = f.values({5, 4}, std::vector<double>(20, 0)),
               dbias = f.values({5}, std::vector<double>(5, 0));
  linear_backward_input(context, dy, w, dx);
  linear_backward_weight(context, dy, x, dw, dbias);
  const auto loss = [&] {
    linear(context, x, w, bias, Tensor(), y);
    return weighted_sum(y, dy);
  };
  check_gradient(loss, x, dx);
  check_gradient(loss, w, dw);
  check_gradient(loss, bias, dbias);
}

TEST_CASE("fast linear agrees with its reference") {
  for (const auto& [R, N, K] : sizes) {
    INFO("R " << R << " N " << N << " K " << K);
    for (const bool with_both : {false, true}) {
      check_fast_kernel(
          [&, R = R, N = N, K = K](Fixture& f) -> std::vector<Tensor> {
            const Tensor y = f.output({R, N});
            linear(f.context, f.random({R, K}, 1), f.random({N, K}, 2),
                   with_both ? f.random({N}, 3) : Tensor(), with_both ? f.random({R, N}, 4) : Tensor(), y);
            return {y};
          },
          Threads::same);
    }
    check_fast_kernel(
        [R = R, N = N, K = K](Fixture& f) -> std::vector<Tensor> {
          const Tensor dx = f.output({R, K});
          linear_backward_input(f.context, f.random({R, N}, 1), f.random({N, K}, 2), dx);
          return {dx};
        },
        Threads::same);
    check_fast_kernel(
        [R = R, N = N, K = K](Fixture& f) -> std::vector<Tensor> {
          const Tensor dw = f.random({N, K}, 3);
          linear_backward_weight(f.context, f.random({R, N}, 1), f.random({R, K}, 2), dw, Tensor());
          return {dw};
        },
        Threads::same);
  }
}

TEST_CASE("fast linear's bias gradient has the same bits for any number of threads, and alone") {
  for (const auto& [R, N, K] : sizes) {
    for (const bool is_wide : {false, true}) {
      const Case run = [=, R = R, N = N, K = K](Fixture& f) -> std::vector<Tensor> {
        const Tensor dbias = f.random_gradient({N}, 3, is_wide), alone = f.random_gradient({N}, 3, is_wide);
        const Tensor dy = f.random({R, N}, 1), dw = f.random_gradient({N, K}, 4, is_wide);
        linear_backward_weight(f.context, dy, f.random({R, K}, 2), dw, dbias);
        bias_backward(f.context, dy, alone);
        CHECK(same_bits(alone, dbias));
        return {dbias};
      };
      check_fast_kernel(run);
      check_fast_half_kernel(run);
    }
  }
}

TEST_CASE("bias_backward adds each column's sum to what is there") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(context, dtype);
    const Tensor dbias = f.values({2}, {100, 200});
    bias_backward(context, f.values({3, 2}, {1, 2, 3, 4, 5, 6}), dbias);
    CHECK(to_doubles(dbias) == std::vector<double>{109, 212});
  }
}

TEST_CASE("ranks that are threads of one process multiply at once and get the bits they get alone") {
  const auto run = [](const Context& context) {
    Fixture f(context, DType::f32);
    const Tensor y = f.output({130, 257});
    linear(context, f.random({130, 515}, 1), f.random({257, 515}, 2), f.random({257}, 3), Tensor(), y);
    return to_doubles(y);
  };
  const Context alone(2, Device::host());
  const std::vector<double> expected = run(alone);
  std::vector<std::vector<double>> results(4);
  std::vector<std::thread> ranks;
  for (auto& result : results) {
    ranks.emplace_back([&] {
      const Context context(2, Device::host());
      for (int i = 0; i < 5; ++i) result = run(context);
    });
  }
  for (auto& rank : ranks) rank.join();
  for (const auto& result : results) CHECK(result == expected);
}

TEST_CASE("linear refuses shapes and dtypes that do not fit") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(context, dtype), other(context, dtype == DType::f32 ? DType::f64 : DType::f32);
    const Tensor x = f.random({2, 3}, 1), w = f.random({4, 3}, 2), y = f.output({2, 4});
    check_refused("linear", [&] { linear(context, x, f.random({4, 2}, 1), Tensor(), Tensor(), y); });
    check_refused("linear", [&] { linear(context, x, w, f.random({3}, 1), Tensor(), y); });
    check_refused("linear", [&] { linear(context, x, other.random({4, 3}, 1), Tensor(), Tensor(), y); });
    check_refused("linear", [&] { linear(context, x, w, Tensor(), Tensor(), f.output({4, 2})); });
    check_refused("linear", [&] { linear(context, x, w, Tensor(), x, y); });
    check_refused("linear", [&] { linear(context, f.random({3}, 1), w, Tensor(), Tensor(), y); });
    check_refused("linear_backward_input", [&] { linear_backward_input(context, y, w, f.output({3, 2})); });
    check_refused("linear_backward_weight", [&] {
      linear_backward_weight(context, y, x, f.output({3, 4}), Tensor());
    });
    check_refused("bias_backward", [&] { bias_backward(context, y, f.output({2})); });
  }
  Tensor integers(nullptr, DType::i32, {2, 2}, Device::host());
  check_refused("linear", [&] { linear(context, integers, integers, Tensor(), Tensor(), integers); });
}

TEST_CASE("a context that asks for the reference gets it") {
  Context context(1, Device::host()), fast(1, Device::host());
  context.set_reference_only(true);
  const auto run = [](const Context& c, DType dtype) {
    Fixture f(c, dtype);
    const Tensor y = f.output({8, 8});
    linear(c, f.random({8, 999}, 1), f.random({8, 999}, 2), Tensor(), Tensor(), y);
    return to_doubles(y);
  };
  std::vector<double> rounded = run(context, DType::f64);
  for (double& value : rounded)
    value = static_cast<float>(value);  // the reference sums in double and rounds once
  CHECK(run(context, DType::f32) == rounded);
  CHECK(run(fast, DType::f32) != rounded);
}

TEST_CASE("the measured matmul rate is a rate") {
  const Context context(1, Device::host());
  CHECK(measure_matmul_rate(context, Arithmetic::fp32, 0.01) > 1e7);
}

}  // namespace
}  // namespace dt::kernels::test
