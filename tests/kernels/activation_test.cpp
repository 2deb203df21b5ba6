#include "kernels/activation.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "kernels/fixture.hpp"

namespace dt::kernels::test {
namespace {

const Activation plain[] = {Activation::gelu, Activation::gelu_erf, Activation::relu2};
const Activation gating[] = {Activation::gelu, Activation::silu};

struct Sizes {
  std::int64_t R, F;
};
const Sizes sizes[] = {{1, 1}, {3, 5}, {4, 64}, {67, 515}};

/// Checks a kernel in all dtypes. 16-bit results are rounded once: by up to 2⁻⁹ in bf16.
void check_all_dtypes(const Case& run) {
  check_fast_kernel(run);
  check_fast_half_kernel(run, Threads::any, 4e-3);
}

TEST_CASE("gelu has the values of its formula") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f64);
  const Tensor y = f.output({1, 4});
  activation(context, Activation::gelu, f.values({1, 4}, {0, 1, -1, 10}), y);
  CHECK(to_doubles(y)[0] == 0);
  CHECK(to_doubles(y)[1] == Approx(0.8411919906082768));
  CHECK(to_doubles(y)[2] == Approx(-0.15880800939172324));
  CHECK(to_doubles(y)[3] == Approx(10));
}

TEST_CASE("swiglu gates the second half of each row with the first") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f64);
  const Tensor y = f.output({2, 2});
  const double silu1 = 1 / (1 + std::exp(-1.0));
  gated_activation(context, Activation::silu, f.values({2, 4}, {1, 0, 3, 5, 1, 1, 2, 4}), y);
  CHECK(to_doubles(y)[0] == Approx(3 * silu1));
  CHECK(to_doubles(y)[1] == 0);
  CHECK(to_doubles(y)[2] == Approx(2 * silu1));
  CHECK(to_doubles(y)[3] == Approx(4 * silu1));
}

TEST_CASE("the other activations have the values of their formulas") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f64);
  const Tensor x = f.values({1, 4}, {0, 1, -1, 10}), y = f.output({1, 4}), half = f.output({1, 2});
  activation(context, Activation::gelu_erf, x, y);
  CHECK(to_doubles(y)[0] == 0);
  CHECK(to_doubles(y)[1] == Approx(0.8413447460685429));
  CHECK(to_doubles(y)[2] == Approx(-0.15865525393145707));
  CHECK(to_doubles(y)[3] == Approx(10));
  activation(context, Activation::relu2, x, y);
  CHECK(to_doubles(y) == std::vector<double>{0, 1, 0, 100});
  gated_activation(context, Activation::gelu, f.values({1, 4}, {1, -1, 3, 5}), half);
  CHECK(to_doubles(half)[0] == Approx(3 * 0.8411919906082768));
  CHECK(to_doubles(half)[1] == Approx(5 * -0.15880800939172324));
}

TEST_CASE("the backwards of activations are their gradients") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f64);
  for (const Activation a : plain) {
    const Tensor x = f.random({3, 5}, 1, 4), dy = f.random({3, 5}, 2), y = f.output({3, 5}),
                 dx = f.output({3, 5});
    activation_backward(context, a, dy, x, dx);
    check_gradient([&] { return activation(context, a, x, y), weighted_sum(y, dy); }, x, dx);
  }
  for (const Activation a : gating) {
    const Tensor x = f.random({3, 10}, 1, 4), dy = f.random({3, 5}, 2), y = f.output({3, 5}),
                 dx = f.output({3, 10});
    gated_activation_backward(context, a, dy, x, dx);
    check_gradient([&] { return gated_activation(context, a, x, y), weighted_sum(y, dy); }, x, dx);
  }
}

Case plain_case(Activation a, std::int64_t R, std::int64_t F, bool in_place = false) {
  return [=](Fixture& f) -> std::vector<Tensor> {
    const Tensor x = f.random({R, F}, 1, 6), dy = f.random({R, F}, 2), y = f.output({R, F}),
                 dx = in_place ? x : f.output({R, F});
    activation(f.context, a, x, y);
    activation_backward(f.context, a, dy, x, dx);
    return {y, dx};
  };
}

Case gated_case(Activation a, std::int64_t R, std::int64_t F, bool in_place = false) {
  return [=](Fixture& f) -> std::vector<Tensor> {
    const Tensor x = f.random({R, 2 * F}, 1, 6), dy = f.random({R, F}, 2);
    const Tensor y = f.output({R, F}), dx = in_place ? x : f.output({R, 2 * F});
    gated_activation(f.context, a, x, y);
    gated_activation_backward(f.context, a, dy, x, dx);
    return {y, dx};
  };
}

TEST_CASE("fast activations agree with their references") {
  for (const auto& [R, F] : sizes) {
    INFO("R " << R << " F " << F);
    for (const Activation a : plain) check_all_dtypes(plain_case(a, R, F));
    for (const Activation a : gating) check_all_dtypes(gated_case(a, R, F));
  }
}

TEST_CASE("activations on GPUs agree with their references", "[device]") {
  const Sizes gpu_sizes[] = {{1, 1},   {3, 5},   {4, 64},   {67, 515}, {1, 256},  {2, 257}, {5, 255},
                             {31, 33}, {300, 7}, {9, 2048}, {7, 2049}, {64, 512}, {0, 5}};
  for (const auto& [R, F] : gpu_sizes) {
    INFO("R " << R << " F " << F);
    for (const Activation a : plain) check_gpu_kernel(plain_case(a, R, F));
    for (const Activation a : gating) check_gpu_kernel(gated_case(a, R, F));
  }
}

TEST_CASE("activations on GPUs have the same bits wherever they lie", "[device]") {
  for (const std::int64_t F : {43, 304}) {
    for (const Activation a : plain) check_gpu_places(plain_case(a, 3, F));
    for (const Activation a : gating) check_gpu_places(gated_case(a, 3, F));
  }
}

TEST_CASE("activation gradients on GPUs may be written over what the contract allows", "[device]") {
  for (const Activation a : plain) check_gpu_kernel(plain_case(a, 3, 300, true));
  for (const Activation a : gating) check_gpu_kernel(gated_case(a, 3, 300, true));
  check_gpu_kernel([](Fixture& f) -> std::vector<Tensor> {
    const Tensor dy = f.random({3, 300}, 2);
    activation_backward(f.context, Activation::gelu, dy, f.random({3, 300}, 1, 6), dy);
    return {dy};
  });
}

TEST_CASE("activations on GPUs stay finite at extreme inputs", "[device]") {
  check_gpu_kernel([](Fixture& f) -> std::vector<Tensor> {
    const Tensor x = f.values({1, 8}, {-6e4, -1e4, -128, -50, 50, 128, 1e4, 6e4}), y = f.output({1, 8}),
                 dx = f.output({1, 8}), half = f.output({1, 4}), dhalf = f.output({1, 8});
    const Tensor one = f.values({1, 8}, std::vector<double>(8, 1));
    const Tensor gate_up = f.values({1, 8}, {-1e4, -128, 128, 1e4, 1, 1, 1, 1});
    activation(f.context, Activation::gelu, x, y);
    // The outer inputs have cubes that overflow fp32, and are infinite in f16.
    activation_backward(f.context, Activation::gelu, one,
                        f.values({1, 8}, {-1e30, -1e13, -128, -50, 50, 128, 1e13, 1e30}), dx);
    gated_activation(f.context, Activation::silu, gate_up, half);
    gated_activation_backward(f.context, Activation::silu, f.values({1, 4}, {1, 1, 1, 1}), gate_up, dhalf);
    return {y, dx, half, dhalf};
  });
}

TEST_CASE("activations stay finite at extreme inputs") {
  for (const bool reference : {false, true}) {
    Context context(1, Device::host());
    context.set_reference_only(reference);
    Fixture f(context, DType::f32);
    const Tensor x = f.values({1, 8}, {-1e30, -1e4, -100, -50, 50, 100, 1e4, 1e30});
    const Tensor y = f.output({1, 8}), dx = f.output({1, 8}),
                 one = f.values({1, 8}, std::vector<double>(8, 1));
    activation(context, Activation::gelu, x, y);
    activation_backward(context, Activation::gelu, one, x, dx);
    for (int i = 0; i < 8; ++i) {
      CHECK(y.data<float>()[i] == Approx(i < 4 ? 0 : x.data<float>()[i]).margin(1e-6));
      CHECK(dx.data<float>()[i] == Approx(i < 4 ? 0 : 1).margin(1e-6));
    }
    const Tensor half = f.output({1, 4}), dgate_up = f.output({1, 8});
    gated_activation(context, Activation::silu, f.values({1, 8}, {-1e4, -100, 100, 1e4, 1, 1, 1, 1}), half);
    CHECK(to_doubles(half)[0] == Approx(0).margin(1e-6));
    CHECK(to_doubles(half)[3] == Approx(1e4));
    gated_activation_backward(context, Activation::silu, half,
                              f.values({1, 8}, {-1e4, -100, 100, 1e4, 1, 1, 1, 1}), dgate_up);
    for (const double value : to_doubles(dgate_up)) CHECK(std::isfinite(value));
  }
}

TEST_CASE("activation gradients may be written over what the contract allows") {
  for (const bool reference : {false, true}) {
    Context context(1, Device::host());
    context.set_reference_only(reference);
    Fixture f(context, DType::f32);
    const Tensor x = f.random({3, 37}, 1), dy = f.random({3, 37}, 2), dx = f.output({3, 37});
    activation_backward(context, Activation::gelu, dy, x, dx);
    activation_backward(context, Activation::gelu, dy, x, dy);
    CHECK(same_bits(dx, dy));
    activation_backward(context, Activation::gelu, f.random({3, 37}, 2), x, x);
    CHECK(same_bits(dx, x));
    const Tensor gate_up = f.random({3, 74}, 3), dgate_up = f.output({3, 74});
    gated_activation_backward(context, Activation::silu, dy, gate_up, dgate_up);
    gated_activation_backward(context, Activation::silu, dy, gate_up, gate_up);
    CHECK(same_bits(dgate_up, gate_up));
  }
}

TEST_CASE("activations refuse shapes that do not fit") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f32);
  const Tensor a = f.random({2, 4}, 1), wrong = f.output({2, 3});
  check_refused("activation", [&] { activation(context, Activation::gelu, a, wrong); });
  check_refused("activation_backward", [&] { activation_backward(context, Activation::gelu, a, a, wrong); });
  check_refused("gated_activation", [&] { gated_activation(context, Activation::silu, a, wrong); });
  check_refused("gated_activation_backward", [&] {
    gated_activation_backward(context, Activation::silu, f.output({2, 2}), a, wrong);
  });
}

TEST_CASE("activations let NaN through") {
  const auto check = [](const Context& context) {
    Fixture f(context, DType::f32);
    const Tensor nan = f.values({1, 2}, {NAN, NAN}), one = f.values({1, 2}, {1, 1}), y = f.output({1, 2});
    const Tensor half = f.values({1, 1}, {1}), z = f.output({1, 1});
    activation(context, Activation::gelu, nan, y);
    CHECK(std::isnan(to_doubles(y)[0]));
    activation_backward(context, Activation::gelu, one, nan, one);
    CHECK(std::isnan(to_doubles(one)[0]));
    gated_activation(context, Activation::silu, f.values({1, 2}, {NAN, 1}), z);
    CHECK(std::isnan(to_doubles(z)[0]));
    gated_activation_backward(context, Activation::silu, half, f.values({1, 2}, {NAN, 1}), y);
    CHECK(std::isnan(to_doubles(y)[0]));
  };
  Context context(1, Device::host());
  for_each_instruction_set([&] { check(context); });
  context.set_reference_only(true);
  check(context);
}

}  // namespace
}  // namespace dt::kernels::test
