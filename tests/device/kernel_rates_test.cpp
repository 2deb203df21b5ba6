#include <catch2/catch.hpp>
#include <cmath>

#include "device/test_device.hpp"
#include "gpu/bytes.hpp"
#include "gpu/launches.hpp"

namespace dt::test_device {

TEST_CASE("kernels whose rates GPUs are asked for run, each with all that it takes", "[test-device]") {
  const Use device(1);
  const Context context(1, Device::gpu(0));
  const std::vector<Rate> rates = kernel_rates(context, 3, 2);
  REQUIRE(rates.size() == 14);
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

}  // namespace dt::test_device
