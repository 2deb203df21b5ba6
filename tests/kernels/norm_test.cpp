#include "kernels/norm.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "kernels/fixture.hpp"

namespace dt::kernels::test {
namespace {

struct Sizes {
  std::int64_t R, C;
};
const Sizes sizes[] = {{1, 1}, {3, 7}, {2, 64}, {65, 17}, {129, 256}, {70, 1023}};

/// Checks a kernel in all dtypes. 16-bit results are rounded once: by up to 2⁻⁹ in bf16.
void check_all_dtypes(const Case& run) {
  check_fast_kernel(run);
  check_fast_half_kernel(run, Threads::any, 4e-3);
}

TEST_CASE("layer_norm centres and scales each row") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f64);
  const Tensor y = f.output({1, 4}), mean = f.output({1}), rstd = f.output({1});
  layer_norm(context, f.values({1, 4}, {1, 2, 3, 6}), f.values({4}, {1, 1, 2, 1}),
             f.values({4}, {0, 0, 0, 10}), 0.5, y, mean, rstd);  // variance 3.5
  CHECK(to_doubles(mean) == std::vector<double>{3});
  CHECK(to_doubles(rstd) == std::vector<double>{0.5});
  CHECK(to_doubles(y) == std::vector<double>{-1, -0.5, 0, 11.5});
}

TEST_CASE("rms_norm scales each row by its root mean square") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f64);
  const Tensor y = f.output({1, 2}), rstd = f.output({1});
  rms_norm(context, f.values({1, 2}, {1, 7}), f.values({2}, {1, 10}), 0, y, rstd);
  CHECK(to_doubles(rstd) == std::vector<double>{0.2});
  CHECK(to_doubles(y)[0] == Approx(0.2));
  CHECK(to_doubles(y)[1] == Approx(14));
}

TEST_CASE("norms may multiply by 1 + weight, a sum that is not rounded to the weight's dtype") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    Fixture f(context, dtype);
    // The mean of squares and eps are 1 together. In bf16 1 + 0.0043 would be 1.0078, and 1.75 times
    // that 1.7656.
    const Tensor x = f.values({1, 4}, {1.75, 0.75, 0.5, 0}), w = f.values({4}, {0.0043, 1, -1, 3});
    const Tensor y = f.output({1, 4}), mean = f.wide_output({1}), rstd = f.wide_output({1});
    rms_norm(context, x, w, 0.03125, y, rstd, true);
    CHECK(to_doubles(rstd)[0] == Approx(1));
    CHECK(to_doubles(y)[0] == Approx(dtype == DType::bf16 ? 1.7578125 : 1.757525));
    CHECK(to_doubles(y)[1] == Approx(1.5));
    CHECK(to_doubles(y)[2] == 0);
    // The variance is 0.4063, and 0.25 with eps.
    layer_norm(context, x, w, f.values({4}, {0, 0, 0, 8}), -0.15625, y, mean, rstd, true);
    CHECK(to_doubles(y)[1] == Approx(0));
    CHECK(to_doubles(y)[3] == Approx(2));
  }
}

TEST_CASE("layer_norm_backward is layer_norm's gradient") {
  const bool plus_one = GENERATE(false, true);
  const Context context(1, Device::host());
  Fixture f(context, DType::f64);
  const std::int64_t R = 3, C = 5;
  const Tensor x = f.random({R, C}, 1), w = f.random({C}, 2), b = f.random({C}, 3), dy = f.random({R, C}, 4);
  const Tensor y = f.output({R, C}), mean = f.output({R}), rstd = f.output({R});
  const auto loss = [&] {
    layer_norm(context, x, w, b, 1e-5, y, mean, rstd, plus_one);
    return weighted_sum(y, dy);
  };
  loss();
  const Tensor dx = f.output({R, C}), dw = f.random({C}, 0, 0), db = f.random({C}, 0, 0);
  layer_norm_backward(context, dy, x, w, mean, rstd, Tensor(), dx, dw, db, plus_one);
  check_gradient(loss, x, dx);
  check_gradient(loss, w, dw);
  check_gradient(loss, b, db);
}

TEST_CASE("rms_norm_backward is rms_norm's gradient") {
  const bool plus_one = GENERATE(false, true);
  const Context context(1, Device::host());
  Fixture f(context, DType::f64);
  const std::int64_t R = 3, C = 5;
  const Tensor x = f.random({R, C}, 1), w = f.random({C}, 2), dy = f.random({R, C}, 4);
  const Tensor y = f.output({R, C}), rstd = f.output({R});
  const auto loss = [&] {
    rms_norm(context, x, w, 1e-5, y, rstd, plus_one);
    return weighted_sum(y, dy);
  };
  loss();
  const Tensor dx = f.output({R, C}), dw = f.random({C}, 0, 0);
  rms_norm_backward(context, dy, x, w, rstd, Tensor(), dx, dw, plus_one);
  check_gradient(loss, x, dx);
  check_gradient(loss, w, dw);
}

TEST_CASE("norm gradients are added to the residual's and to what the weights' hold") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(context, dtype);
    const Tensor x = f.values({1, 2}, {1, 3}), zero = f.values({1, 2}, {0, 0}), w = f.values({2}, {1, 1});
    const Tensor mean = f.values({1}, {2}), rstd = f.values({1}, {1}), around = f.values({1, 2}, {5, 6});
    const Tensor dx = f.output({1, 2}), dw = f.values({2}, {7, 8}), db = f.values({2}, {9, 10});
    layer_norm_backward(context, zero, x, w, mean, rstd, around, dx, dw, db);
    CHECK(to_doubles(dx) == std::vector<double>{5, 6});
    rms_norm_backward(context, zero, x, w, rstd, dx, dx, dw);
    CHECK(to_doubles(dx) == std::vector<double>{5, 6});
    CHECK(to_doubles(dw) == std::vector<double>{7, 8});
    CHECK(to_doubles(db) == std::vector<double>{9, 10});
  }
}

TEST_CASE("norms may be written over what the contract allows") {
  for (const bool reference : {false, true}) {
    Context context(1, Device::host());
    context.set_reference_only(reference);
    Fixture f(context, DType::f32);
    const Shape shape{3, 37};
    const Tensor w = f.random({37}, 3), mean = f.random({3}, 4), rstd = f.random({3}, 5);
    const auto backward = [&](int over) {  // 0, 1, 2: dresidual, dy, x
      const Tensor around = f.random(shape, 1), dy = f.random(shape, 2), x = f.random(shape, 6);
      const Tensor dx = std::vector<Tensor>{f.output(shape), around, dy, x}[static_cast<std::size_t>(over)];
      const Tensor dw = f.random({37}, 7), db = f.random({37}, 8);
      layer_norm_backward(context, dy, x, w, mean, rstd, around, dx, dw, db);
      return std::vector<Tensor>{dx, dw, db};
    };
    for (const int over : {1, 2, 3}) {
      for (std::size_t i = 0; i < 3; ++i) CHECK(same_bits(backward(over)[i], backward(0)[i]));
    }
    const Tensor x = f.random(shape, 6), y = f.output(shape);
    rms_norm(context, x, w, 1e-5, y, rstd);
    rms_norm(context, x, w, 1e-5, x, rstd);
    CHECK(same_bits(x, y));
  }
}

Case layer_norm_case(std::int64_t R, std::int64_t C, bool with_bias, bool plus_one = false) {
  return [=](Fixture& f) -> std::vector<Tensor> {
    const Tensor y = f.output({R, C}), mean = f.wide_output({R}), rstd = f.wide_output({R});
    layer_norm(f.context, f.random({R, C}, 1), f.random({C}, 2), with_bias ? f.random({C}, 3) : Tensor(),
               1e-5, y, mean, rstd, plus_one);
    return {y, mean, rstd};
  };
}

Case rms_norm_case(std::int64_t R, std::int64_t C, bool plus_one = false) {
  return [=](Fixture& f) -> std::vector<Tensor> {
    const Tensor y = f.output({R, C}), rstd = f.wide_output({R});
    rms_norm(f.context, f.random({R, C}, 1), f.random({C}, 2), 1e-5, y, rstd, plus_one);
    return {y, rstd};
  };
}

/// Returns a case with or without dresidual and dbias.
Case layer_norm_backward_case(std::int64_t R, std::int64_t C, bool with_both, bool plus_one = false) {
  return [=](Fixture& f) -> std::vector<Tensor> {
    const Tensor dy = f.random({R, C}, 1), x = f.random({R, C}, 2), w = f.random({C}, 3);
    const Tensor mean = f.wide_random({R}, 4), rstd = f.wide_random({R}, 5), dx = f.output({R, C});
    const Tensor around = with_both ? f.random({R, C}, 6) : Tensor();
    const Tensor dw = f.random_gradient({C}, 7, with_both);
    const Tensor db = with_both ? f.random_gradient({C}, 8, true) : Tensor();
    layer_norm_backward(f.context, dy, x, w, mean, rstd, around, dx, dw, db, plus_one);
    return with_both ? std::vector<Tensor>{dx, dw, db} : std::vector<Tensor>{dx, dw};
  };
}

Case rms_norm_backward_case(std::int64_t R, std::int64_t C, bool with_residual, bool plus_one = false) {
  return [=](Fixture& f) -> std::vector<Tensor> {
    const Tensor dy = f.random({R, C}, 1), x = f.random({R, C}, 2), w = f.random({C}, 3);
    const Tensor rstd = f.wide_random({R}, 5), dx = f.output({R, C});
    const Tensor around = with_residual ? f.random({R, C}, 6) : Tensor();
    const Tensor dw = f.random_gradient({C}, 7, !with_residual);
    rms_norm_backward(f.context, dy, x, w, rstd, around, dx, dw, plus_one);
    return {dx, dw};
  };
}

TEST_CASE("fast norms agree with their references") {
  for (const auto& [R, C] : sizes) {
    INFO("R " << R << " C " << C);
    for (const bool with_bias : {false, true}) check_all_dtypes(layer_norm_case(R, C, with_bias));
    check_all_dtypes(rms_norm_case(R, C));
    check_all_dtypes(layer_norm_case(R, C, true, true));
    check_all_dtypes(rms_norm_case(R, C, true));
  }
}

TEST_CASE("fast norms' backwards agree with their references") {
  for (const auto& [R, C] : sizes) {
    INFO("R " << R << " C " << C);
    for (const bool with_both : {false, true}) {
      check_all_dtypes(layer_norm_backward_case(R, C, with_both));
      check_all_dtypes(rms_norm_backward_case(R, C, with_both));
    }
    check_all_dtypes(layer_norm_backward_case(R, C, true, true));
    check_all_dtypes(rms_norm_backward_case(R, C, true, true));
  }
}

// Rows fit warps or blocks, with as many vectors per thread as registers hold, and with more. Runs of
// rows are full or partial.
const Sizes gpu_sizes[] = {{1, 1},    {3, 7},     {2, 64},    {65, 17},   {16, 32},   {17, 33},  {8, 512},
                           {9, 511},  {1, 513},   {18, 768},  {10, 1023}, {35, 1024}, {9, 1600}, {3, 2049},
                           {5, 2056}, {17, 5000}, {18, 6200}, {1, 8200},  {0, 5}};

TEST_CASE("norms on GPUs agree with their references", "[device]") {
  // Both norms share kernels, which differ by the weight's form: each size meets both forms, by one norm
  // each.
  int size = 0;
  for (const auto& [R, C] : gpu_sizes) {
    INFO("R " << R << " C " << C);
    const bool rms_plus_one = size % 2 == 0, with_both = size / 2 % 2 == 0;
    check_gpu_kernel(layer_norm_case(R, C, with_both, !rms_plus_one));
    check_gpu_kernel(layer_norm_backward_case(R, C, with_both, !rms_plus_one));
    check_gpu_kernel(rms_norm_case(R, C, rms_plus_one));
    check_gpu_kernel(rms_norm_backward_case(R, C, with_both, rms_plus_one));
    ++size;
  }
  check_gpu_kernel(rms_norm_backward_case(8211, 3, true));  // longer than the shortest runs
}

TEST_CASE("norms on GPUs have the same bits wherever they lie", "[device]") {
  for (const std::int64_t C : {43, 304, 1200, 2600}) {
    check_gpu_places(layer_norm_case(18, C, true));
    check_gpu_places(layer_norm_backward_case(18, C, true));
    check_gpu_places(rms_norm_backward_case(18, C, false));
  }
}

TEST_CASE("norms larger than the caches have the bits of small ones") {
  const std::int64_t R = 24576, C = 1024, few = 64;  // 100 and 200 MB
  for (const DType dtype : {DType::bf16, DType::f32}) {
    const Context context(2, Device::host());
    Fixture f(context, dtype);
    const Tensor x = f.random({R, C}, 1), w = f.random({C}, 2), b = f.random({C}, 3);
    const Tensor y = f.output({R, C}), mean = f.wide_output({R}), rstd = f.wide_output({R});
    const Tensor dx = f.output({R, C}), dw = f.wide_random({C}, 0, 0), db = f.wide_random({C}, 0, 0);
    const Tensor small = f.output({few, C}), small_mean = f.wide_output({few}),
                 small_rstd = f.wide_output({few});
    for_each_instruction_set([&] {
      layer_norm(context, x, w, b, 1e-5, y, mean, rstd);
      layer_norm_backward(context, y, x, w, mean, rstd, Tensor(), dx, dw, db);
      for (const std::int64_t begin : {std::int64_t{0}, R / 2 - few, R - few}) {
        const Tensor x_rows = x.rows(begin, begin + few);
        layer_norm(context, x_rows, w, b, 1e-5, small, small_mean, small_rstd);
        CHECK(same_bits(small, y.rows(begin, begin + few)));
        layer_norm_backward(context, y.rows(begin, begin + few), x_rows, w, small_mean, small_rstd, Tensor(),
                            small, dw, db);
        CHECK(same_bits(small, dx.rows(begin, begin + few)));
      }
    });
  }
}

TEST_CASE("layer_norm keeps its digits far from zero") {
  check_fast_kernel(
      [](Fixture& f) -> std::vector<Tensor> {
        const Tensor x = f.random({4, 768}, 1), y = f.output({4, 768}), mean = f.output({4}),
                     rstd = f.output({4});
        for (float& value : x.span<float>()) value = std::round(value * 64) / 64 + 100;
        layer_norm(f.context, x, f.random({768}, 2), Tensor(), 1e-5, y, mean, rstd);
        return {y, mean, rstd};
      },
      Threads::any, 2e-5);
}

TEST_CASE("layer_norm on GPUs keeps its digits far from zero", "[device]") {
  std::vector<double> values(2 * 768);  // values about 100 that every dtype has
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 100 + 0.5 * (static_cast<double>(i % 3) - 1);
  check_gpu_kernel([&](Fixture& f) -> std::vector<Tensor> {
    const Tensor x = f.values({2, 768}, values), y = f.output({2, 768}), mean = f.wide_output({2}),
                 rstd = f.wide_output({2});
    layer_norm(f.context, x, f.random({768}, 2), Tensor(), 1e-5, y, mean, rstd);
    return {y, mean, rstd};
  });
}

TEST_CASE("norms on GPUs may be written over what the contract allows", "[device]") {
  for (const std::int64_t C : {37, 600}) {
    for (const std::size_t over : {0, 1, 2}) {  // dresidual, dy, x
      check_gpu_kernel([=](Fixture& f) -> std::vector<Tensor> {
        const Tensor around = f.random({20, C}, 1), dy = f.random({20, C}, 2), x = f.random({20, C}, 6);
        const Tensor dx = std::vector<Tensor>{around, dy, x}[over], w = f.random({C}, 3);
        const Tensor mean = f.wide_random({20}, 4), rstd = f.wide_random({20}, 5);
        const Tensor dw = f.random_gradient({C}, 7, true), db = f.random_gradient({C}, 8, true);
        layer_norm_backward(f.context, dy, x, w, mean, rstd, around, dx, dw, db);
        return {dx, dw, db};
      });
    }
    check_gpu_kernel([=](Fixture& f) -> std::vector<Tensor> {
      const Tensor x = f.random({20, C}, 6), rstd = f.wide_output({20});
      rms_norm(f.context, x, f.random({C}, 3), 1e-5, x, rstd);
      return {x, rstd};
    });
  }
}

TEST_CASE("norms refuse shapes that do not fit") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f32);
  const Tensor x = f.random({2, 3}, 1), w = f.random({3}, 2), mean = f.output({2}), rstd = f.output({2});
  const Tensor wrong = f.output({4});
  check_refused("layer_norm", [&] { layer_norm(context, x, wrong, Tensor(), 1e-5, x, mean, rstd); });
  check_refused("layer_norm", [&] { layer_norm(context, x, w, wrong, 1e-5, x, mean, rstd); });
  check_refused("layer_norm", [&] { layer_norm(context, x, w, Tensor(), 1e-5, x, mean, wrong); });
  const auto backward = [&](const Tensor& statistics, const Tensor& around, const Tensor& dw) {
    layer_norm_backward(context, x, x, w, statistics, rstd, around, x, dw, Tensor());
  };
  check_refused("layer_norm_backward", [&] { backward(wrong, x, w); });
  check_refused("layer_norm_backward", [&] { backward(mean, wrong, w); });
  check_refused("layer_norm_backward", [&] { backward(mean, x, wrong); });
  check_refused("rms_norm", [&] { rms_norm(context, x, w, 1e-5, f.output({3, 2}), rstd); });
  check_refused("rms_norm_backward", [&] { rms_norm_backward(context, x, x, wrong, rstd, Tensor(), x, w); });
  check_refused("rms_norm_backward", [&] { rms_norm_backward(context, x, x, w, rstd, Tensor(), x, wrong); });
}

}  // namespace
}  // namespace dt::kernels::test
