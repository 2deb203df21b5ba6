#include "kernels/norm.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "kernels/fixture.hpp"

namespace dt::kernels::test {
namespace {

struct Sizes {
  std::int64_t R, C;
};
const Sizes sizes[] = {{1, 1}, {3, 7}, {2, 64}, {65, 17}, {129, 768}, {200, 1023}};

TEST_CASE("layer_norm centres and scales each row") {
  const Context context(1);
  Fixture f(context, DType::f64);
  const Tensor y = f.output({1, 4}), mean = f.output({1}), rstd = f.output({1});
  layer_norm(context, f.values({1, 4}, {1, 2, 3, 6}), f.values({4}, {1, 1, 2, 1}),
             f.values({4}, {0, 0, 0, 10}), 0.5, y, mean, rstd);  // variance 3.5
  CHECK(to_doubles(mean) == std::vector<double>{3});
  CHECK(to_doubles(rstd) == std::vector<double>{0.5});
  CHECK(to_doubles(y) == std::vector<double>{-1, -0.5, 0, 11.5});
}

TEST_CASE("rms_norm scales each row by its root mean square") {
  const Context context(1);
  Fixture f(context, DType::f64);
  const Tensor y = f.output({1, 2}), rstd = f.output({1});
  rms_norm(context, f.values({1, 2}, {1, 7}), f.values({2}, {1, 10}), 0, y, rstd);
  CHECK(to_doubles(rstd) == std::vector<double>{0.2});
  CHECK(to_doubles(y)[0] == Approx(0.2));
  CHECK(to_doubles(y)[1] == Approx(14));
}

TEST_CASE("layer_norm's backward halves are its gradients") {
  const Context context(1);
  Fixture f(context, DType::f64);
  const std::int64_t R = 3, C = 5;
  const Tensor x = f.random({R, C}, 1), w = f.random({C}, 2), b = f.random({C}, 3), dy = f.random({R, C}, 4);
  const Tensor y = f.output({R, C}), mean = f.output({R}), rstd = f.output({R});
  const auto loss = [&] {
    layer_norm(context, x, w, b, 1e-5, y, mean, rstd);
    return weighted_sum(y, dy);
  };
  loss();
  const Tensor dx = f.random({R, C}, 0, 0), dw = f.random({C}, 0, 0), db = f.random({C}, 0, 0);
  layer_norm_backward_input(context, dy, x, w, mean, rstd, dx);
  layer_norm_backward_weight(context, dy, x, mean, rstd, dw, db);
  check_gradient(loss, x, dx);
  check_gradient(loss, w, dw);
  check_gradient(loss, b, db);
}

TEST_CASE("rms_norm's backward halves are its gradients") {
  const Context context(1);
  Fixture f(context, DType::f64);
  const std::int64_t R = 3, C = 5;
  const Tensor x = f.random({R, C}, 1), w = f.random({C}, 2), dy = f.random({R, C}, 4);
  const Tensor y = f.output({R, C}), rstd = f.output({R});
  const auto loss = [&] {
    rms_norm(context, x, w, 1e-5, y, rstd);
    return weighted_sum(y, dy);
  };
  loss();
  const Tensor dx = f.random({R, C}, 0, 0), dw = f.random({C}, 0, 0);
  rms_norm_backward_input(context, dy, x, w, rstd, dx);
  rms_norm_backward_weight(context, dy, x, rstd, dw);
  check_gradient(loss, x, dx);
  check_gradient(loss, w, dw);
}

TEST_CASE("norm gradients are added to what is there") {
  const Context context(1);
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(context, dtype);
    const Tensor x = f.values({1, 2}, {1, 3}), zero = f.values({1, 2}, {0, 0}), w = f.values({2}, {1, 1});
    const Tensor mean = f.values({1}, {2}), rstd = f.values({1}, {1}), dx = f.values({1, 2}, {5, 6});
    const Tensor dw = f.values({2}, {7, 8}), db = f.values({2}, {9, 10});
    layer_norm_backward_input(context, zero, x, w, mean, rstd, dx);
    rms_norm_backward_input(context, zero, x, w, rstd, dx);
    layer_norm_backward_weight(context, zero, x, mean, rstd, dw, db);
    rms_norm_backward_weight(context, zero, x, rstd, dw);
    CHECK(to_doubles(dx) == std::vector<double>{5, 6});
    CHECK(to_doubles(dw) == std::vector<double>{7, 8});
    CHECK(to_doubles(db) == std::vector<double>{9, 10});
  }
}

TEST_CASE("fast norms agree with their references") {
  for (const auto& [R_, C_] : sizes) {
    const std::int64_t R = R_, C = C_;
    INFO("R " << R << " C " << C);
    for (const bool with_bias : {false, true}) {
      check_fast_kernel([=](Fixture& f) -> std::vector<Tensor> {
        const Tensor y = f.output({R, C}), mean = f.output({R}), rstd = f.output({R});
        layer_norm(f.context, f.random({R, C}, 1), f.random({C}, 2), with_bias ? f.random({C}, 3) : Tensor(),
                   1e-5, y, mean, rstd);
        return {y, mean, rstd};
      });
    }
    check_fast_kernel([=](Fixture& f) -> std::vector<Tensor> {
      const Tensor y = f.output({R, C}), rstd = f.output({R});
      rms_norm(f.context, f.random({R, C}, 1), f.random({C}, 2), 1e-5, y, rstd);
      return {y, rstd};
    });
  }
}

TEST_CASE("fast norms' backward halves agree with their references") {
  for (const auto& [R_, C_] : sizes) {
    const std::int64_t R = R_, C = C_;
    INFO("R " << R << " C " << C);
    for (const bool with_bias : {false, true}) {
      check_fast_kernel([=](Fixture& f) -> std::vector<Tensor> {
        const Tensor dy = f.random({R, C}, 1), x = f.random({R, C}, 2), w = f.random({C}, 3);
        const Tensor mean = f.random({R}, 4), rstd = f.random({R}, 5), dx = f.random({R, C}, 6);
        const Tensor dw = f.random({C}, 7), db = with_bias ? f.random({C}, 8) : Tensor();
        layer_norm_backward_input(f.context, dy, x, w, mean, rstd, dx);
        layer_norm_backward_weight(f.context, dy, x, mean, rstd, dw, db);
        return with_bias ? std::vector<Tensor>{dx, dw, db} : std::vector<Tensor>{dx, dw};
      });
    }
    check_fast_kernel([=](Fixture& f) -> std::vector<Tensor> {
      const Tensor dy = f.random({R, C}, 1), x = f.random({R, C}, 2), w = f.random({C}, 3);
      const Tensor rstd = f.random({R}, 5), dx = f.random({R, C}, 6), dw = f.random({C}, 7);
      rms_norm_backward_input(f.context, dy, x, w, rstd, dx);
      rms_norm_backward_weight(f.context, dy, x, rstd, dw);
      return {dx, dw};
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

TEST_CASE("norms refuse shapes that do not fit") {
  const Context context(1);
  Fixture f(context, DType::f32);
  const Tensor x = f.random({2, 3}, 1), w = f.random({3}, 2), mean = f.output({2}), rstd = f.output({2});
  const Tensor wrong = f.output({4});
  check_refused("layer_norm", [&] { layer_norm(context, x, wrong, Tensor(), 1e-5, x, mean, rstd); });
  check_refused("layer_norm", [&] { layer_norm(context, x, w, wrong, 1e-5, x, mean, rstd); });
  check_refused("layer_norm", [&] { layer_norm(context, x, w, Tensor(), 1e-5, x, mean, wrong); });
  check_refused("layer_norm_backward_input",
                [&] { layer_norm_backward_input(context, x, x, w, wrong, rstd, x); });
  check_refused("layer_norm_backward_weight",
                [&] { layer_norm_backward_weight(context, x, x, mean, rstd, wrong, Tensor()); });
  check_refused("rms_norm", [&] { rms_norm(context, x, w, 1e-5, f.output({3, 2}), rstd); });
  check_refused("rms_norm_backward_input", [&] { rms_norm_backward_input(context, x, x, wrong, rstd, x); });
  check_refused("rms_norm_backward_weight", [&] { rms_norm_backward_weight(context, x, x, rstd, wrong); });
}

}  // namespace
}  // namespace dt::kernels::test
