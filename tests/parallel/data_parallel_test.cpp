// Tests the gradients of one step whose micro-batches are divided among ranks, with ranks as
// threads.

#include <catch2/catch.hpp>
#include <cmath>

#include "device/test_device.hpp"
#include "parallel/divided_step.hpp"

using namespace dt;
using namespace dt_test::divided;

bool close(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](float x, float y) { return std::abs(x - y) <= 1e-5F * std::abs(y); });
}

TEST_CASE("ranks have the bits of one rank's step where its lanes are whole, whatever they divide") {
  for (const std::int64_t micro_batches : {1, 2, 3, 4, 5, 8, 11}) {
    const std::vector<float> whole = gradient({1, micro_batches, 4});
    for (const int ranks : {2, 4}) {
      for (const int stage : {0, 1}) CHECK(same_bits(gradient({ranks, micro_batches, 4, stage}), whole));
    }
  }
}

TEST_CASE("dividing gradients leaves every bit where a rank has one micro-batch") {
  for (const int ranks : {2, 4, 8}) {
    const std::vector<float> whole = gradient({1, ranks, ranks});
    for (const int stage : {1, 2, 3}) {
      for (int group = 2; group <= ranks; group *= 2) {
        INFO(ranks << " ranks, stage " << stage << ", groups of " << group);
        CHECK(same_bits(gradient({ranks, ranks, ranks, stage, group}), whole));
      }
    }
  }
}

TEST_CASE("stages that divide gradients are a class of their own where ranks have several micro-batches") {
  const std::vector<float> whole = gradient({1, 7, 4});
  for (const int ranks : {2, 4}) {
    for (int group = 2; group <= ranks; group *= 2) {
      const std::vector<float> divided = gradient({ranks, 7, 4, 2, group});
      CHECK(same_bits(gradient({ranks, 7, 4, 3, group}), divided));
      CHECK(close(divided, whole));
    }
  }
}

TEST_CASE("any number of ranks has equal bits on all of them and the sum but for rounding") {
  const std::vector<float> whole = gradient({1, 7, 1});
  for (const int ranks : {2, 3, 5, 6, 9}) {
    for (const int stage : {0, 1, 2, 3}) CHECK(close(gradient({ranks, 7, ranks, stage}), whole));
  }
}

TEST_CASE("gradients that lie on a device have the bits of the host's, whatever ranks divide", "[device]") {
  for (const int ranks : {2, 3}) {
    for (const int stage : {0, 1, 2, 3}) {
      INFO(ranks << " ranks, stage " << stage);
      Setting setting{.ranks = ranks, .micro_batches = 4, .lanes = 4, .stage = stage};
      const std::vector<float> on_host = gradient(setting);
      const test_device::Use device(static_cast<std::uint64_t>(7 * ranks + stage));
      setting.device = Device::gpu(0);
      CHECK(same_bits(gradient(setting), on_host));
    }
  }
  // One rank has no micro-batch.
  Setting setting{.ranks = 3, .micro_batches = 2, .lanes = 2, .stage = 2};
  const std::vector<float> on_host = gradient(setting);
  const test_device::Use device(1);
  setting.device = Device::gpu(0);
  CHECK(same_bits(gradient(setting), on_host));
}
