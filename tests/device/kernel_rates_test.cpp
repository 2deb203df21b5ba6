#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "device/test_device.hpp"
#include "gpu/bytes.hpp"
#include "gpu/comparisons.hpp"
#include "gpu/launches.hpp"

namespace dt::test_device {

TEST_CASE("kernels whose rates GPUs are asked for run, each with all that it takes", "[test-device]") {
  const Use device(1);
  const Context context(1, Device::gpu(0));
  const std::vector<Rate> rates = kernel_rates(context, 3, 2);
  REQUIRE(rates.size() == 18);
  CHECK(rates.front().kernel == "copy");
  for (const Rate& rate : rates) {
    INFO(rate.kernel);
    CHECK(rate.bytes > 0);
    CHECK((rate.seconds > 0 && std::isfinite(rate.bytes_per_s())));
  }
}

TEST_CASE("what launching takes is measured of what is kept back and of what is not", "[test-device]") {
  const Use device(1);
  const std::vector<LaunchTime> all = launch_times(2);
  REQUIRE(all.size() == 2);
  for (const LaunchTime& time : all) CHECK((time.one_by_one_s > 0 && time.in_graphs_s > 0));
  CHECK(device.counts().graphs > 0);
}

TEST_CASE("products and attention are compared with their libraries' fastest, forward and backward",
          "[test-device]") {
  const Use device(1);
  const Context context(1, Device::gpu(0));
  Measure measure(context, 2);
  const auto is_measured = [](const Comparison& c, int ways) {
    return c.seconds > 0 && c.library && c.library->seconds > 0 && c.library->ways == ways;
  };
  std::set<bool> transposed, adding;
  int bias_gradients = 0;
  const auto products =
      compare_products(measure, {{"plain", 2, 3, 9, false, false}, {"all", 4, 3, 5, true, true}},
                       [&](const Measure& m, const kernels::cuda::Matmul& p, const Tensor& dbias) {
                         bias_gradients += dbias ? 1 : 0;
                         transposed.insert(p.left.transposed);
                         adding.insert(static_cast<bool>(p.added_MN));
                         return std::optional(Fastest{m.seconds([] {}) + 1e-9, 3});
                       });
  REQUIRE(products.size() == 8);
  CHECK(products[3].what == "plain, weight's gradient, last features");
  CHECK(products[5].what == "all, input's gradient");
  CHECK(products[7].what == "all, weight's and bias's gradients");
  CHECK(bias_gradients == 1);
  for (const Comparison& c : products) CHECK(is_measured(c, 3));
  CHECK((transposed.size() == 2 && adding.size() == 2));

  int backwards = 0;
  const auto attention = compare_attention(
      measure, {{2, 4, 2, 1, 8}},
      [&](const Measure& m, const kernels::cuda::FusedAttention& forward,
          const kernels::cuda::FusedAttentionGradients* gradients) {
        const auto run = [&] {
          CHECK((gradients ? kernels::cuda::attend_backward(m.context(), forward, *gradients)
                           : kernels::cuda::attend(m.context(), forward)));
        };
        backwards += gradients != nullptr ? 1 : 0;
        return std::optional(Fastest{m.seconds(run), 1});
      });
  REQUIRE(attention.size() == 2);
  CHECK(attention[1].what == "2 heads of 8, T 4, backward");
  for (const Comparison& c : attention) CHECK(is_measured(c, 1));
  CHECK(backwards == 1);
}

}  // namespace dt::test_device
