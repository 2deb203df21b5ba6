#include "kernels/newton_schulz.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "kernels/fixture.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::kernels::test {
namespace {

std::vector<double> orthogonalised(const Context& context, DType dtype, const Shape& shape) {
  Fixture f(context, dtype);
  const Tensor u = f.random(shape, 3), x = f.random(shape, 4);
  const std::size_t before = context.scratch().peak_bytes();
  newton_schulz(context, u, x);
  if (context.device() != Device::host()) return to_doubles(f.on_host(x));
  if (dtype == DType::f32 && before == 0 && !context.reference_only())
    CHECK(context.scratch().peak_bytes() >= newton_schulz_scratch_bytes(dtype, shape[0], shape[1]));
  return to_doubles(x);
}

TEST_CASE("fast Newton–Schulz steps agree with the reference, with the same bits for any number of threads") {
  for (const Shape& shape : {Shape{2, 2}, Shape{3, 17}, Shape{17, 3}, Shape{40, 64}, Shape{131, 70}}) {
    CAPTURE(shape.to_string());
    const Context one(1, Device::host()), two(2, Device::host());
    Context reference(1, Device::host());
    reference.set_reference_only(true);
    const auto fast = orthogonalised(one, DType::f32, shape),
               slow = orthogonalised(reference, DType::f32, shape);
    CHECK(orthogonalised(two, DType::f32, shape) == fast);
    double squares = 0, errors = 0;
    for (std::size_t i = 0; i < fast.size(); ++i) {
      squares += slow[i] * slow[i];
      errors += (fast[i] - slow[i]) * (fast[i] - slow[i]);
    }
    CHECK(std::sqrt(errors / squares) < 1e-5);
  }
}

/// The steps bring singular values near 1: X·Xᵀ is near the identity for a wide matrix.
TEST_CASE("Newton–Schulz steps make rows of a wide matrix, or columns of a tall one, nearly orthonormal") {
  const Context context(1, Device::host());
  const auto wide = orthogonalised(context, DType::f64, {8, 40}),
             tall = orthogonalised(context, DType::f64, {40, 8});
  for (std::int64_t a = 0; a < 8; ++a) {
    for (std::int64_t b = 0; b < 8; ++b) {
      double rows = 0, columns = 0;
      for (std::int64_t k = 0; k < 40; ++k) {
        rows += wide[static_cast<std::size_t>(a * 40 + k)] * wide[static_cast<std::size_t>(b * 40 + k)];
        columns += tall[static_cast<std::size_t>(k * 8 + a)] * tall[static_cast<std::size_t>(k * 8 + b)];
      }
      CHECK(std::abs(rows - (a == b)) < 0.6);
      CHECK(std::abs(columns - (a == b)) < 0.6);
    }
  }
}

TEST_CASE("Newton–Schulz steps on a GPU agree with the reference, and never multiply in TF32", "[device]") {
  for (const Shape& shape : {Shape{1, 1}, Shape{3, 17}, Shape{17, 3}, Shape{40, 64}, Shape{131, 70}}) {
    CAPTURE(shape.to_string());
    for (const DType dtype : {DType::f64, DType::f32}) {
      const auto on_gpu = [&](std::uint64_t seed, Arithmetic arithmetic) {
        std::vector<double> x;
        on_test_device(dtype, seed, [&](Fixture& f) {
          Context context(1, f.context.device());
          context.set_arithmetic(arithmetic);
          x = orthogonalised(context, dtype, shape);
        });
        return x;
      };
      const Context host(1, Device::host());
      const std::vector<double> expected = orthogonalised(host, DType::f64, shape),
                                x = on_gpu(1, Arithmetic::fp32);
      CHECK(on_gpu(2, Arithmetic::tf32) == x);
      double squares = 0, errors = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        squares += expected[i] * expected[i];
        errors += (x[i] - expected[i]) * (x[i] - expected[i]);
      }
      CHECK(std::sqrt(errors / squares) < (dtype == DType::f64 ? 1e-12 : 1e-5));
    }
  }
}

TEST_CASE("a zero matrix stays zero, and a transposed matrix gives the transposed result") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(context, dtype);
    const Tensor zeros = f.values({2, 3}, {0, 0, 0, 0, 0, 0}), x = f.values({2, 3}, {1, 1, 1, 1, 1, 1});
    newton_schulz(context, zeros, x);
    CHECK(to_doubles(x) == std::vector<double>(6));
    const Tensor wide = f.values({2, 3}, {1, 2, 3, -4, 5, 6}), tall = f.values({3, 2}, {1, -4, 2, 5, 3, 6}),
                 y = f.values({3, 2}, {0, 0, 0, 0, 0, 0});
    newton_schulz(context, wide, x);
    newton_schulz(context, tall, y);
    for (std::size_t r = 0; r < 2; ++r) {
      for (std::size_t c = 0; c < 3; ++c)
        CHECK(to_doubles(x)[r * 3 + c] == Approx(to_doubles(y)[c * 2 + r]).epsilon(1e-5));
    }
  }
}

TEST_CASE("Newton–Schulz steps refuse what they cannot compute") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f32);
  const Tensor u = f.random({2, 3}, 1), transposed = f.random({3, 2}, 1), vector = f.random({6}, 1);
  CHECK_THROWS_AS(newton_schulz(context, u, transposed), Error);
  CHECK_THROWS_AS(newton_schulz(context, vector, vector), Error);
}

}  // namespace
}  // namespace dt::kernels::test
