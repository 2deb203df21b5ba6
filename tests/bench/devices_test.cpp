#include "bench/devices.hpp"

#include <catch2/catch.hpp>

#include "comm/threads/thread_group.hpp"
#include "device/test_device.hpp"

using namespace dt;
using namespace dt::bench;

namespace {

std::vector<RankedDevice> measured(Device device, const std::vector<DevicePlace>& places) {
  std::vector<RankedDevice> devices;
  comm::run_threads(static_cast<int>(places.size()), [&](comm::Communicator& group) {
    const Context context(1, device);
    Workspace workspace(context, 1 << 16);
    DeadlineTimer limit(60, [](const Error&) {});
    const DeviceSettings settings{.copy_bytes = 1 << 16, .measure = {}, .product_s = 0.01};
    const auto own = measure_devices(group, context, settings, places, workspace, limit);
    if (group.rank() == 0) devices = own;
    return 0;
  });
  return devices;
}

}  // namespace

TEST_CASE("of cores products and copies are measured, by rank") {
  const std::vector<RankedDevice> devices =
      measured(Device::host(), {{"n1", "cpu", "avx2"}, {"n1", "cpu", "avx2"}, {"n2", "cpu", "avx512"}});
  REQUIRE(devices.size() == 3);
  for (int rank = 0; rank < 3; ++rank) {
    const RankedDevice& device = devices[static_cast<std::size_t>(rank)];
    CHECK(device.rank == rank);
    CHECK(device.place.host == (rank < 2 ? "n1" : "n2"));
    CHECK(device.rates[0] > 0);
    CHECK(device.rates[1] > 0);
    CHECK(device.rates[2] == 0);
    CHECK(device.rates[3] == 0);
    CHECK_FALSE(device.is_slow());
  }
  CHECK(devices[0].standings[0].median == std::max(devices[0].rates[0], devices[1].rates[0]));
  CHECK(devices[2].standings[0].median == devices[2].rates[0]);
}

TEST_CASE("of a GPU copies to and from its host are measured, too", "[device]") {
  const test_device::Use device(1);
  const std::vector<RankedDevice> devices =
      measured(Device::gpu(0), {{"n1", "cuda:0", "GPU", "0000:01:00.0"}});
  REQUIRE(devices.size() == 1);
  for (const double rate : devices[0].rates) CHECK(rate > 0);
}

TEST_CASE("a place says host, GPU and address") {
  CHECK(DevicePlace{"n1", "cuda:0", "NVIDIA H200", "0000:01:00.0"}.describe() ==
        "n1, cuda:0 (NVIDIA H200, 0000:01:00.0)");
  CHECK(DevicePlace{"n1", "cpu", "avx2"}.describe() == "n1, cpu (avx2)");
}
