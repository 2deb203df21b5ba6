#include <algorithm>
#include <catch2/catch.hpp>

#include "device/test_device.hpp"
#include "kernels/elementwise.hpp"
#include "tensor/context.hpp"

namespace dt::test_device {
namespace {

constexpr Device gpu = Device::gpu(0);

TEST_CASE("the host runs ahead of a device by a bounded number of kernels", "[test-device]") {
  const Use device(1);
  Context context(1, gpu);
  int num_polls = 0;
  context.set_poll([&] { ++num_polls; });
  const Buffer memory(gpu, 400);
  const Tensor data(memory, DType::f32, {100});
  int given = 0, done = 0, most_behind = 0;
  for (; given < 1000; ++given) {
    kernels::fill(context, 1, data);
    enqueue(context, {"a kernel", {}, 1, 0, [&] { ++done; }});
    most_behind = std::max(most_behind, given - done);
  }
  CHECK(most_behind >= StreamThrottle::kernels_between_events);
  CHECK(most_behind <= 2 * StreamThrottle::kernels_between_events);
  CHECK(num_polls > given);
}

TEST_CASE("a thread that only submits work to a device that hangs gets an error", "[test-device]") {
  Use device(1);
  device.break_at(1, Use::Fault::hang);
  accelerator().set_timeout(0.05);
  const Context context(1, gpu);
  const Buffer memory(gpu, 400);
  const Tensor data(memory, DType::f32, {100});
  const auto give = [&] {
    for (int i = 0; i < 1000; ++i) kernels::add(context, data, data, data);
  };
  CHECK_THROWS_WITH(give(),
                    Catch::Contains("cuda:0") && Catch::Contains("computing did not complete within"));
}

}  // namespace
}  // namespace dt::test_device
