#include "kernels/cross_entropy.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "kernels/elementwise.hpp"
#include "kernels/fixture.hpp"

namespace dt::kernels::test {
namespace {

TEST_CASE("cross_entropy of equal logits is the log of the vocabulary") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(context, dtype);
    const Tensor nll = f.output_f64({2});
    cross_entropy(context, f.values({2, 3}, {5, 5, 5, std::log(1.0), std::log(2.0), std::log(5.0)}),
                  f.ids({2, 1}), nll);
    CHECK(to_doubles(nll)[0] == Approx(std::log(3.0)));
    CHECK(to_doubles(nll)[1] == Approx(std::log(4.0)));
  }
}

TEST_CASE("a negative label is no target: no loss and no gradient") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(context, dtype);
    const Tensor logits = f.random({2, 5}, 1), nll = f.output_f64({2}), again = f.output_f64({2}),
                 labels = f.ids({-100, 3});
    cross_entropy(context, logits, labels, nll);
    CHECK(to_doubles(nll)[0] == 0);
    CHECK(to_doubles(nll)[1] > 0);
    cross_entropy_gradient(context, labels, 2, again, logits);
    CHECK(same_bits(again, nll));
    CHECK(to_doubles(logits.rows(0, 1)) == std::vector<double>(5, 0));
    CHECK(to_doubles(logits.rows(1, 2))[3] < 0);
  }
}

TEST_CASE("cross_entropy_gradient has the values of its formula") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(context, dtype);
    const Tensor logits = f.values({1, 3}, {std::log(1.0), std::log(2.0), std::log(5.0)});
    const Tensor nll = f.output_f64({1});
    cross_entropy_gradient(context, f.ids({1}), 16, nll, logits);
    CHECK(to_doubles(nll)[0] == Approx(std::log(4.0)));
    CHECK(to_doubles(logits)[0] == Approx(2));
    CHECK(to_doubles(logits)[1] == Approx(-12));
    CHECK(to_doubles(logits)[2] == Approx(10));
  }
}

TEST_CASE("cross_entropy_gradient is the gradient of the sum times the scale") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f64);
  const Tensor logits = f.random({3, 7}, 1, 3), dlogits = f.random({3, 7}, 1, 3), labels = f.ids({6, -1, 0});
  const Tensor nll = f.output_f64({3});
  const auto loss = [&] {
    cross_entropy(context, logits, labels, nll);
    return 0.25 * (to_doubles(nll)[0] + to_doubles(nll)[1] + to_doubles(nll)[2]);
  };
  cross_entropy_gradient(context, labels, 0.25, nll, dlogits);
  check_gradient(loss, logits, dlogits);
}

TEST_CASE("fast cross_entropy agrees with its reference", "[device]") {
  struct Sizes {
    std::int64_t R, V;
  };
  for (const auto& [R_, V_] : {Sizes{1, 1}, Sizes{3, 7}, Sizes{5, 64}, Sizes{9, 2049}, Sizes{7, 50257},
                               Sizes{4, 33}, Sizes{6, 512}, Sizes{3, 513}, Sizes{2, 4096}}) {
    const std::int64_t R = R_, V = V_;
    INFO("R " << R << " V " << V);
    const Case run = [=](Fixture& f) -> std::vector<Tensor> {
      const Tensor logits = f.random({R, V}, 1, 5),
                   labels = f.random_ids(R, -1, static_cast<std::int32_t>(V), 2);
      const Tensor nll = f.output_f64({R}), again = f.output_f64({R});
      cross_entropy(f.context, logits, labels, nll);
      cross_entropy_gradient(f.context, labels, 128, again, logits);
      CHECK(same_bits(f.on_host(again), f.on_host(nll)));
      if (V == 1) return {nll};  // the gradient is only rounding
      return {nll, logits};
    };
    check_fast_kernel(run);
    check_fast_half_kernel(run, Threads::any, 4e-3);
    check_gpu_kernel(run);
    if (V < 600) check_gpu_places(run);
  }
}

TEST_CASE("on a GPU rows of logits may be padded", "[device]") {
  for (const std::int64_t V : {1, 7, 63, 64, 65, 259, 2049}) {
    INFO("V " << V);
    check_gpu_kernel([=](Fixture& f) -> std::vector<Tensor> {
      const std::int64_t R = 5;
      const Tensor logits = f.padded(f.random({R, V}, 1, 5)), part_logits = f.padded(f.random({R, V}, 3, 5)),
                   labels = f.random_ids(R, -1, static_cast<std::int32_t>(V), 2);
      const Tensor nll = f.output_f64({R}), again = f.output_f64({R}), nll_of_parts = f.output_f64({R});
      const Tensor parts = f.output_f64({1, 3, R});
      cross_entropy(f.context, logits, labels, nll);
      cross_entropy_gradient(f.context, labels, 128, again, logits);
      cross_entropy_partial(f.context, part_logits, labels, {}, parts.reshaped({3, R}));
      cross_entropy_gradient_from_partials(f.context, parts, labels, {}, 128, nll_of_parts, part_logits);
      if (V == 1) return {nll, nll_of_parts};  // the gradients are only rounding
      return {nll, f.unpadded(logits), nll_of_parts, f.unpadded(part_logits)};
    });
  }
}

/// Returns values in ±5 that are the same in every dtype.
std::vector<double> values_for_all(std::int64_t count) {
  const Context host(1, Device::host());
  std::vector<double> values = to_doubles(Fixture(host, DType::f64).random({count}, 1, 5));
  for (double& value : values) value = std::round(value * 32) / 32;
  return values;
}

TEST_CASE("cross_entropy is right wherever in a row the highest logits lie, and beside logits of −∞",
          "[device]") {
  constexpr std::int64_t V = 3 * 2048 + 5;
  for (const std::int64_t peak : {std::int64_t{0}, std::int64_t{2048}, V / 2, V - 1}) {
    const Case run = [=](Fixture& f) -> std::vector<Tensor> {
      std::vector<double> values = values_for_all(2 * V);
      values[static_cast<std::size_t>(peak)] = 60;
      for (std::int64_t v = 0; v < V; ++v) {
        if (v / 2048 != peak / 2048 && v != 7) values[static_cast<std::size_t>(V + v)] = -INFINITY;
      }
      const Tensor logits = f.values({2, V}, values), nll = f.output_f64({2});
      cross_entropy_gradient(f.context, f.ids({3, 7}), 1, nll, logits);
      return {nll, logits.rows(0, 1), logits.rows(1, 2)};
    };
    check_fast_kernel(run);
    check_gpu_kernel(run);
  }
}

TEST_CASE("fast cross_entropy keeps more digits than one fp32 sum would") {
  Context context(1, Device::host()), reference(1, Device::host());
  reference.set_reference_only(true);
  const auto run = [](const Context& c) {
    Fixture f(c, DType::f32);
    const Tensor nll = f.output_f64({4});
    cross_entropy(c, f.random({4, 50257}, 1, 5), f.random_ids(4, 0, 50257, 2), nll);
    return to_doubles(nll);
  };
  const std::vector<double> fast = run(context), expected = run(reference);
  for (std::size_t i = 0; i < fast.size(); ++i) CHECK(std::abs(fast[i] - expected[i]) < 5e-7);
}

TEST_CASE("cross_entropy refuses what does not fit") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f32);
  const Tensor logits = f.random({2, 3}, 1), labels = f.ids({0, 1}), nll = f.output_f64({2});
  check_refused("cross_entropy", [&] { cross_entropy(context, logits, f.ids({0, 3}), nll); });
  check_refused("cross_entropy", [&] { cross_entropy(context, logits, f.ids({0}), nll); });
  check_refused("cross_entropy", [&] { cross_entropy(context, logits, labels, f.output({2})); });
  check_refused("cross_entropy", [&] { cross_entropy(context, logits, labels, f.output_f64({3})); });
  check_refused("cross_entropy_gradient", [&] {
    cross_entropy_gradient(context, f.ids({0, 3}), 1, nll, logits);
  });
  check_refused("cross_entropy_gradient",
                [&] { cross_entropy_gradient(context, labels, 1, f.output({2}), logits); });
}

}  // namespace
}  // namespace dt::kernels::test
