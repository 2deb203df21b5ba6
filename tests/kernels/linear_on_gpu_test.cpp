#include <catch2/catch.hpp>
#include <cmath>

#include "base/numeric/dtype.hpp"
#include "kernels/arithmetic.hpp"
#include "kernels/cuda/matmul/matmul.hpp"
#include "kernels/fixture.hpp"
#include "kernels/linear.hpp"

namespace dt::kernels::test {
namespace {

struct Sizes {
  std::int64_t R, N, K;
};
const Sizes gpu_sizes[] = {{1, 1, 1},    {0, 5, 7},    {3, 5, 7},     {1, 300, 40},  {40, 1, 300},
                           {300, 40, 1}, {16, 16, 16}, {17, 33, 31},  {64, 48, 32},  {67, 129, 65},
                           {128, 64, 8}, {256, 7, 9},  {5, 257, 128}, {130, 257, 96}};

TEST_CASE("linear on a GPU agrees with its reference", "[device]") {
  for (const auto& [R, N, K] : gpu_sizes) {
    INFO("R " << R << " N " << N << " K " << K);
    for (const bool has_bias : {false, true}) {
      for (const bool has_residual : {false, true}) {
        check_gpu_kernel([=, R = R, N = N, K = K](Fixture& f) -> std::vector<Tensor> {
          const Tensor y = f.output({R, N});
          linear(f.context, f.random({R, K}, 1), f.random({N, K}, 2), has_bias ? f.random({N}, 3) : Tensor(),
                 has_residual ? f.random({R, N}, 4) : Tensor(), y);
          return {y};
        });
      }
    }
    check_gpu_kernel([=, R = R, N = N, K = K](Fixture& f) -> std::vector<Tensor> {
      const Tensor y = f.random({R, N}, 4);
      linear(f.context, f.random({R, K}, 1), f.random({N, K}, 2), f.random({N}, 3), y, y);
      return {y};
    });
  }
}

TEST_CASE("on a GPU a bias is added with the same bits wherever it lies", "[device]") {
  check_gpu_places([](Fixture& f) -> std::vector<Tensor> {
    const Tensor y = f.output({5, 16}), added = f.output({5, 16});
    const Tensor x = f.random({5, 24}, 1), w = f.random({16, 24}, 2), bias = f.random({16}, 3);
    linear(f.context, x, w, bias, Tensor(), y);
    linear(f.context, x, w, bias, f.random({5, 16}, 4), added);
    return {y, added};
  });
}

TEST_CASE("linear's gradients on a GPU agree with their reference", "[device]") {
  for (const auto& [R, N, K] : gpu_sizes) {
    INFO("R " << R << " N " << N << " K " << K);
    check_gpu_kernel([=, R = R, N = N, K = K](Fixture& f) -> std::vector<Tensor> {
      const Tensor dx = f.output({R, K});
      linear_backward_input(f.context, f.random({R, N}, 1), f.random({N, K}, 2), dx);
      return {dx};
    });
    for (const bool is_wide : {false, true}) {
      check_gpu_kernel([=, R = R, N = N, K = K](Fixture& f) -> std::vector<Tensor> {
        const Tensor dy = f.random({R, N}, 1), x = f.random({R, K}, 2);
        const Tensor dw = f.random_gradient({N, K}, 3, is_wide), dbias = f.random_gradient({N}, 4, is_wide);
        linear_backward_weight(f.context, dy, x, dw, Tensor());
        linear_backward_weight(f.context, dy, x, dw, dbias);
        bias_backward(f.context, dy, dbias);
        return {dw, dbias};
      });
    }
  }
}

TEST_CASE("on a GPU the rows of what products give, and of its gradient, may be padded", "[device]") {
  for (const auto& [R, N, K] : {Sizes{3, 5, 7}, Sizes{1, 63, 8}, Sizes{17, 64, 31}, Sizes{40, 259, 16}}) {
    INFO("R " << R << " N " << N << " K " << K);
    check_gpu_kernel([=, R = R, N = N, K = K](Fixture& f) -> std::vector<Tensor> {
      const Tensor x = f.random({R, K}, 1), w = f.random({N, K}, 2), y = f.padded(f.output({R, N})),
                   dy = f.padded(f.random({R, N}, 3));
      const Tensor dx = f.output({R, K}), dw = f.random_gradient({N, K}, 4, true),
                   dbias = f.random_gradient({N}, 5, true);
      linear(f.context, x, w, Tensor(), Tensor(), y);
      linear_backward_input(f.context, dy, w, dx);
      linear_backward_weight(f.context, dy, x, dw, dbias);
      return {f.unpadded(y), dx, dw, dbias};
    });
  }
}

TEST_CASE("nothing is added to a product whose rows are padded, and no CPU knows of such rows", "[device]") {
  on_test_device(DType::f32, 1, [](Fixture& f) {
    const Tensor x = f.random({2, 3}, 1), w = f.random({5, 3}, 2), y = f.padded(f.output({2, 5}));
    check_refused("linear", [&] { linear(f.context, x, w, f.random({5}, 3), Tensor(), y); });
    check_refused("linear", [&] { linear(f.context, x, w, Tensor(), f.random({2, 5}, 3), y); });
    check_refused("linear", [&] { linear(f.context, y, f.random({4, 5}, 3), Tensor(), Tensor(), x); });
  });
  const Context host(1, Device::host());
  Fixture f(host, DType::f32);
  const Tensor padded = f.random({2, 8}, 1).first_columns(5);
  check_refused("linear", [&] {
    linear(host, f.random({2, 3}, 1), f.random({5, 3}, 2), Tensor(), Tensor(), padded);
  });
}

TEST_CASE("rows are padded on GPUs alone, to whole lines of 16-bit elements") {
  CHECK(row_pitch(Device::host(), 50257) == 50257);
  CHECK(row_pitch(Device::gpu(0), 50257) == 50304);
  CHECK(row_pitch(Device::gpu(0), 50304) == 50304);
}

TEST_CASE("features are padded on GPUs alone, and only where they are no whole packs of 16 bytes") {
  CHECK(padded_features(Device::host(), DType::bf16, 50257) == 50257);
  CHECK(padded_features(Device::gpu(0), DType::bf16, 50257) == 50304);
  CHECK(padded_features(Device::gpu(0), DType::bf16, 128256 / 8) == 16032);
  CHECK(padded_features(Device::gpu(0), DType::bf16, 12) == 64);
  CHECK(padded_features(Device::gpu(0), DType::f32, 12) == 12);
  CHECK(padded_features(Device::gpu(0), DType::f64, 7) == 64);
}

TEST_CASE("the last features of a weight's gradient are a product of their own beside padded rows") {
  std::vector<std::byte> memory(4096);
  const auto tensor = [&](Shape shape, DType dtype = DType::bf16) {
    return Tensor(memory.data(), dtype, std::move(shape), Device::gpu(0));
  };
  const Tensor x = tensor({4, 8});
  const auto features = [&](const Tensor& dy) {
    const Tensor dw = tensor({dy.dim(1), 8}, DType::f32);
    std::vector<std::int64_t> counts;
    for (const cuda::Matmul& p : cuda::weight_gradient_matmuls(dy, x, dw, dw)) {
      const std::int64_t begin = (p.output_MN.raw() - dw.raw()) / (8 * 4);
      CHECK(p.left.stored.raw() - dy.raw() == begin * 2);
      CHECK(p.left.stored.pitch() == dy.pitch());
      CHECK(p.output_MN.dim(0) == p.left.stored.dim(1));
      CHECK(p.added_MN.raw() == p.output_MN.raw());
      counts.push_back(p.output_MN.dim(0));
    }
    return counts;
  };
  using Counts = std::vector<std::int64_t>;
  CHECK(features(tensor({4, 64}).first_columns(33)) == Counts{32, 1});
  CHECK(features(tensor({4, 64}).first_columns(40)) == Counts{40});
  CHECK(features(tensor({4, 64}).first_columns(7)) == Counts{7});
  CHECK(features(tensor({4, 33})) == Counts{33});  // its rows are not aligned either
  CHECK(features(tensor({4, 64})) == Counts{64});
}

TEST_CASE("bias_backward on a GPU agrees with its reference over more rows than it has runs", "[device]") {
  struct Sizes {
    std::int64_t R, N;
  };
  for (const auto& [R_, N_] : {Sizes{255, 33}, Sizes{4097, 33}, Sizes{17000, 33}, Sizes{31, 264},
                               Sizes{300, 264}, Sizes{4500, 1032}}) {
    const std::int64_t R = R_, N = N_;
    INFO("R " << R << " N " << N);
    const Case run = [=](Fixture& f) -> std::vector<Tensor> {
      const Tensor dbias = f.random_gradient({N}, 2, true);
      bias_backward(f.context, f.random({R, N}, 1), dbias);
      return {dbias};
    };
    check_gpu_kernel(run);
    if (R < 1000) check_gpu_places(run);
  }
}

TEST_CASE("a bias has the same bits of its gradient on a GPU with the weight's and alone", "[device]") {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    on_test_device(dtype, 1, [](Fixture& f) {
      const Tensor dy = f.random({300, 65}, 1), dw = f.random_gradient({65, 8}, 2, true);
      const Tensor dbias = f.random_gradient({65}, 3, false), alone = f.random_gradient({65}, 3, false);
      linear_backward_weight(f.context, dy, f.random({300, 8}, 4), dw, dbias);
      bias_backward(f.context, dy, alone);
      CHECK(same_bits(f.on_host(dbias), f.on_host(alone)));
    });
  }
}

TEST_CASE("bf16 gradients take products of fp32 and fp16 on a GPU", "[device]") {
  for (const DType dtype : {DType::f32, DType::f16}) {
    on_test_device(dtype, 1, [](Fixture& f) {
      Fixture narrow(f.context, DType::bf16);
      const Tensor dw = narrow.random({2, 3}, 1), dbias = narrow.random({2}, 2);
      const std::vector<double> before = to_doubles(f.on_host(dw)),
                                bias_before = to_doubles(f.on_host(dbias));
      const Tensor dy = f.values({2, 2}, {1, 2, 3, 4}), x = f.values({2, 3}, {1, 2, 4, 8, 16, 32});
      linear_backward_weight(f.context, dy, x, dw, dbias);
      const double sums[] = {25, 50, 100, 34, 68, 136}, bias_sums[] = {4, 6};
      const auto rounded = [](double value) {
        return static_cast<double>(static_cast<float>(BFloat16(static_cast<float>(value))));
      };
      const std::vector<double> after = to_doubles(f.on_host(dw)), bias_after = to_doubles(f.on_host(dbias));
      for (std::size_t i = 0; i < 6; ++i) CHECK(after[i] == rounded(before[i] + sums[i]));
      for (std::size_t i = 0; i < 2; ++i) CHECK(bias_after[i] == rounded(bias_before[i] + bias_sums[i]));
      accelerator().synchronize(f.context.stream());
    });
  }
}

TEST_CASE("where the context says so, a GPU multiplies fp32, and that alone, in TF32", "[device]") {
  constexpr std::int64_t n = 256;
  const auto product_in = [](const Fixture& device, Arithmetic arithmetic, DType dtype) {
    Context context(1, device.context.device());
    context.set_arithmetic(arithmetic);
    Fixture f(context, dtype);
    const Tensor y = f.output({n, n});
    linear(context, f.random({n, n}, 1), f.random({n, n}, 2), Tensor(), Tensor(), y);
    return to_doubles(f.on_host(y));
  };
  on_test_device(DType::f32, 1, [&](Fixture& f) {
    const std::vector<double> exact = product_in(f, Arithmetic::fp32, DType::f64),
                              rounded = product_in(f, Arithmetic::tf32, DType::f32);
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      difference += (rounded[i] - exact[i]) * (rounded[i] - exact[i]);
      norm += exact[i] * exact[i];
    }
    const double error = std::sqrt(difference / norm);
    CHECK(error > 1e-5);
    CHECK(error < 2e-3);
    for (const DType dtype : {DType::f64, DType::bf16, DType::f16})
      CHECK(product_in(f, Arithmetic::tf32, dtype) == product_in(f, Arithmetic::fp32, dtype));
  });
}

TEST_CASE("no CPU multiplies in TF32") {
  CHECK(arithmetic_unavailable_reason(Arithmetic::tf32) == "has no TF32");
}

}  // namespace
}  // namespace dt::kernels::test
