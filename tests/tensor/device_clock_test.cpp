#include "tensor/device/device_clock.hpp"

#include <catch2/catch.hpp>

#include "base/system/host.hpp"
#include "device/test_device.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"

using namespace dt;

namespace {

constexpr Device gpu = Device::gpu(0);

/// Enqueues work that takes measurable time on a device.
void enqueue_work(const Context& context, const Buffer& memory) {
  for (int i = 0; i < 10; ++i) accelerator().zero(context.stream(), memory.data(), memory.bytes());
}

}  // namespace

TEST_CASE("a device's times are the host's, to within what its clock says", "[device]") {
  const test_device::Use device(1);
  const Context context(1, gpu);
  const Buffer memory(gpu, 1 << 20);
  enqueue_work(context, memory);
  const auto clock = std::make_shared<const DeviceClock>(context.stream());
  CHECK(clock->error_s() < 0.1);
  const double before_s = monotonic_s();
  StreamTimer span(clock, context.stream());
  enqueue_work(context, memory);
  span.end();
  StreamTimer after(clock, context.stream());
  after.end();
  accelerator().synchronize(context.stream());
  const double until_s = monotonic_s();
  REQUIRE((span.is_complete() && after.is_complete()));
  const Interval first = span.interval(), second = after.interval();
  CHECK(first.start_s >= before_s - clock->error_s());
  CHECK(first.end_s > first.start_s);
  CHECK(second.start_s >= first.end_s);
  CHECK(second.end_s >= second.start_s);
  CHECK(second.end_s <= until_s + clock->error_s());
}

TEST_CASE("times of a stream are those of another's clock, too", "[device]") {
  const test_device::Use device(2);
  const Context context(1, gpu);
  const ScopedStream other(gpu);
  const auto clock = std::make_shared<const DeviceClock>(context.stream());
  StreamTimer first(clock, context.stream());
  first.end();
  accelerator().wait_stream(other, context.stream());
  StreamTimer second(clock, other);
  second.end();
  accelerator().synchronize(other);
  REQUIRE((first.is_complete() && second.is_complete()));
  CHECK(second.interval().start_s >= first.interval().end_s);
}
