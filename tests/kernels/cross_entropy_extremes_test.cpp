#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "kernels/cross_entropy.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/fixture.hpp"

namespace dt::kernels::test {
namespace {

/// Returns the largest relative error of the gradient of fp32 logits in (highest − 87, highest].
double worst_gradient(const Context& context, double highest, double step) {
  Fixture f(context, DType::f32);
  constexpr std::int64_t count = 200000;
  const Tensor x = f.random({1, count}, 1, 87), p = f.output({1, count}), nll = f.output_f64({1});
  for (float& value : x.span<float>()) {
    value = static_cast<float>(highest - step * std::floor(std::abs(double{value}) / step));
  }
  x.data<float>()[0] = static_cast<float>(highest);
  copy(context, x, p);
  cross_entropy_gradient(context, f.ids({0}), 1, nll, p);  // e^x / sum, except for the label
  const double log_sum = to_doubles(nll)[0] + highest;
  double worst = 0;
  for (std::int64_t i = 1; i < count; ++i) {
    const double exact = std::exp(double{x.data<float>()[i]} - log_sum);
    if (exact > 1e-37) worst = std::max(worst, std::abs(p.data<float>()[i] / exact - 1));
  }
  return worst;
}

TEST_CASE("fast exponentials are good to two units in the last place, however far the logits lie") {
  struct Logits {
    double highest, step;  // steps so coarse that subtracting the highest is exact
  };
  const Context context(1, Device::host());
  for_each_instruction_set([&] {
    for (const auto& [highest, step] : {Logits{0, 0x1p-16},
                                        {37.5, 0x1p-16},
                                        {100, 0x1p-16},
                                        {-120, 0x1p-16},
                                        {1000, 0x1p-13},
                                        {-60000, 0x1p-7},
                                        {3e6, 0x1p-2}}) {
      INFO("highest " << highest);
      // Allows three units in the last place, one of them for the division.
      CHECK(worst_gradient(context, highest, step) < 3 * std::pow(2.0, -23));
    }
  });
}

TEST_CASE("the fast loss has the digits of its logits, however far they lie") {
  const Context context(1, Device::host());
  Context reference(1, Device::host());
  reference.set_reference_only(true);
  constexpr std::int64_t R = 8, V = 5000;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const double highest : {0., 37.5, 100., -120., 1000., -60000.}) {
      for (const double spread : {5., 87.}) {
        Fixture f(context, DType::f64), rounded(context, dtype);
        std::vector<double> values = to_doubles(f.random({R, V}, 1, spread));
        for (double& value : values) value = highest - std::abs(value);
        const Tensor logits = rounded.values({R, V}, values), labels = f.random_ids(R, 0, V, 2);
        const Tensor nll = f.output_f64({R}), expected = f.output_f64({R});
        cross_entropy(reference, f.values({R, V}, to_doubles(logits)), labels, expected);
        for_each_instruction_set([&] {
          cross_entropy(context, logits, labels, nll);
          for (std::size_t r = 0; r < R; ++r) {
            INFO(dtype_name(dtype) << " highest " << highest << " spread " << spread);
            CHECK(std::abs(to_doubles(nll)[r] - to_doubles(expected)[r]) <
                  (dtype == DType::f32 ? 5e-7 : 4e-6));
          }
        });
      }
    }
  }
}

TEST_CASE("cross_entropy finds the highest of logits that are all below zero, or infinite, or huge") {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      for (const std::int64_t V : {3, 100, 9000}) {
        INFO(dtype_name(dtype) << " V " << V);
        const Context context(1, Device::host());
        Fixture f(context, dtype);
        const Tensor logits = f.output({3, V}), nll = f.output_f64({3});
        const double infinity = std::numeric_limits<double>::infinity();
        std::vector<double> values;
        for (std::int64_t j = 0; j < V; ++j) values.push_back(j == V - 2 ? -3000 : -40000);
        for (std::int64_t j = 0; j < V; ++j) values.push_back(j < 2 ? -1 : -infinity);
        for (std::int64_t j = 0; j < V; ++j) values.push_back(j == 1 ? 60000 : -60000);
        copy(context, f.values({3, V}, values), logits);
        cross_entropy_gradient(context, f.ids({static_cast<std::int32_t>(V - 2), 0, 1}), 1, nll, logits);
        CHECK(std::abs(to_doubles(nll)[0]) < 1e-5);
        CHECK(to_doubles(nll)[1] == Approx(std::log(2.0)).epsilon(1e-5));
        CHECK(std::abs(to_doubles(nll)[2]) < 1e-5);
        CHECK(to_doubles(logits)[static_cast<std::size_t>(V) + 1] == Approx(0.5).epsilon(1e-5));
        CHECK(to_doubles(logits)[static_cast<std::size_t>(V) + 2] == 0);
      }
    }
  });
}

TEST_CASE("cross_entropy has its digits where later logits are far higher or lower than the first") {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      for (const double height : {-500., 30., 45., 200., 50000.}) {
        INFO(dtype_name(dtype) << " " << height);
        const Context context(1, Device::host());
        Fixture f(context, dtype);
        constexpr std::int64_t V = 20000;
        std::vector<double> values(V, 0);
        for (std::size_t j = 12000; j < 12100; ++j) values[j] = height;
        const Tensor logits = f.values({1, V}, values), nll = f.output_f64({1}), again = f.output_f64({1});
        const double at_height = to_doubles(logits)[12000], highest = std::max(0.0, at_height);
        const double sum = (V - 100) * std::exp(-highest) + 100 * std::exp(at_height - highest);
        cross_entropy(context, logits, f.ids({7}), nll);
        CHECK(to_doubles(nll)[0] == Approx(highest + std::log(sum)).epsilon(1e-5));
        cross_entropy_gradient(context, f.ids({7}), 1, again, logits);
        CHECK(same_bits(nll, again));
        CHECK(to_doubles(logits)[12050] ==
              Approx(std::exp(at_height - highest) / sum).epsilon(1e-2).margin(1e-30));
        CHECK(to_doubles(logits)[19999] == Approx(std::exp(-highest) / sum).epsilon(1e-2).margin(1e-7));
      }
    }
  });
}

TEST_CASE("cross_entropy_gradient has its digits where later logits are far higher and the scale is small") {
  const Context context(1, Device::host());
  constexpr std::int64_t V = 4096;
  Fixture f(context, DType::f32);
  const Tensor x = f.random({1, V}, 1, 1), p = f.output({1, V}), nll = f.output_f64({1});
  for (float& value : x.span<float>()) value += 59;
  x.data<float>()[3000] = 100;
  for (const double scale : {1.0, 0x1p-19}) {
    for_each_instruction_set([&] {
      copy(context, x, p);
      cross_entropy_gradient(context, f.ids({0}), scale, nll, p);
      const double log_sum = to_doubles(nll)[0] + double{x.data<float>()[0]};
      double worst = 0;
      for (std::int64_t i = 1; i < V; ++i) {
        const double exact = scale * std::exp(double{x.data<float>()[i]} - log_sum);
        worst = std::max(worst, std::abs(p.data<float>()[i] / exact - 1));
      }
      CHECK(worst < 3 * std::pow(2.0, -23));
    });
  }
}

TEST_CASE("a logit that is not a number shows in the loss") {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      for (const double sign : {1, -1}) {
        for (const std::size_t at : {40, 70, 4999}) {
          const Context context(1, Device::host());
          Fixture f(context, dtype);
          std::vector<double> values(5000, 1);
          values[at] = std::copysign(std::numeric_limits<double>::quiet_NaN(), sign);
          const Tensor nll = f.output_f64({1});
          cross_entropy(context, f.values({1, 5000}, values), f.ids({3}), nll);
          CHECK(std::isnan(to_doubles(nll)[0]));
        }
      }
    }
  });
}

TEST_CASE("cross_entropy does not overflow at extreme logits") {
  for_each_instruction_set([] {
    for (const bool use_reference : {false, true}) {
      Context context(1, Device::host());
      context.set_reference_only(use_reference);
      Fixture f(context, DType::f32);
      const Tensor logits = f.values({3, 3}, {1e30, 0, -1e30, -3e38, -3e38, -3e38, 1000, 999, -1000});
      const Tensor labels = f.ids({0, 1, 2}), nll = f.output_f64({3});
      cross_entropy_gradient(context, labels, 1, nll, logits);
      CHECK(to_doubles(nll)[0] == 0);
      CHECK(to_doubles(nll)[1] == Approx(std::log(3.0)));
      CHECK(to_doubles(nll)[2] == Approx(2000 + std::log(1 + std::exp(-1.0))));
      CHECK(to_doubles(logits.rows(0, 1)) == std::vector<double>{0, 0, 0});
      CHECK(to_doubles(logits)[6] == Approx(1 / (1 + std::exp(-1.0))).epsilon(1e-6));
      CHECK(to_doubles(logits)[8] == -1);
    }
  });
}

TEST_CASE("one logit that is far from all others, however far, is summed right") {
  for_each_instruction_set([] {
    const Context context(1, Device::host());
    constexpr std::int64_t V = 300;
    for (const double far :
         {-1e4, -1e9, -1e20, -1e25, -3e38, -double{INFINITY}, 100., 1e9, 1e20, 1e25, 3e38}) {
      INFO(far);
      Fixture f(context, DType::f32);
      std::vector<double> values(V, 1.5);
      values[200] = far;
      const Tensor logits = f.values({1, V}, values), nll = f.output_f64({1});
      cross_entropy_gradient(context, f.ids({7}), 1, nll, logits);
      const double at_far = far < 0 ? 0 : 1, elsewhere = far < 0 ? 1 / (V - 1.0) : 0;
      const double expected =
          far < 0 ? std::log(V - 1.0) : static_cast<double>(static_cast<float>(far)) - 1.5;
      CHECK(to_doubles(nll)[0] == Approx(expected).epsilon(1e-7));
      CHECK(to_doubles(logits)[200] == Approx(at_far));
      CHECK(to_doubles(logits)[299] == Approx(elsewhere).margin(1e-30));
    }
  });
}

TEST_CASE("on a GPU what is not finite shows in the loss, and so does a label beyond the vocabulary",
          "[device]") {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    on_test_device(dtype, 1, [&](Fixture& f) {
      std::vector<double> values(5 * 900, 1.0);
      values[700] = NAN, values[900 + 3] = infinity;
      for (std::size_t v = 0; v < 900; ++v) values[2 * 900 + v] = -infinity;
      const Tensor logits = f.values({5, 900}, values), nll = f.output_f64({5});
      cross_entropy(f.context, logits, f.ids({5, 5, 5, 900, 5}), nll);
      const std::vector<double> losses = to_doubles(f.on_host(nll));
      for (std::size_t r = 0; r < 4; ++r) CHECK_FALSE(std::isfinite(losses[r]));
      CHECK(losses[4] == Approx(std::log(900.0)));
    });
  }
}

TEST_CASE("a logit that is not finite shows in the loss") {
  for_each_instruction_set([] {
    for (const bool use_reference : {false, true}) {
      Context context(1, Device::host());
      context.set_reference_only(use_reference);
      for (const double bad : {double{NAN}, double{INFINITY}}) {
        for (const std::size_t at : {0, 17, 36, 236}) {
          Fixture f(context, DType::f32);
          std::vector<double> values(237, 1.0);
          values[at] = bad;
          const Tensor nll = f.output_f64({1});
          cross_entropy(context, f.values({1, 237}, values), f.ids({5}), nll);
          CHECK_FALSE(std::isfinite(to_doubles(nll)[0]));
          cross_entropy_gradient(context, f.ids({5}), 1, nll, f.values({1, 237}, values));
          CHECK_FALSE(std::isfinite(to_doubles(nll)[0]));
        }
      }
    }
  });
}

}  // namespace
}  // namespace dt::kernels::test
