#include "parallel/exposed_time.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "comm/threads/thread_group.hpp"
#include "device/test_device.hpp"
#include "kernels/elementwise.hpp"
#include "parallel/groups.hpp"

using namespace dt;
using namespace dt::parallel;

namespace {

constexpr double slow_s = 0.05;

void enqueue_slow_kernel(const Context& context) {
  test_device::enqueue(context, {"slow", {}, 1, 0, [] {
                                   std::this_thread::sleep_for(std::chrono::duration<double>(slow_s));
                                 }});
}

}  // namespace

TEST_CASE("what a device still computes is no communication; what follows is", "[test-device]") {
  const test_device::Use device(1);
  comm::run_threads(1, [](comm::Communicator& world) {
    const Context context(1, Device::gpu(0));
    const comm::ComputesOn computes_on(world.engine(), context);
    const Groups groups(model::Layout{}, world);
    const Buffer memory(context.device(), 4096);
    const Tensor values(memory, DType::f32, {1024});
    ExposedTime& exposed = groups.exposed();
    const double started_s = monotonic_s();
    // The start of an operation asks the device once, which does one of them.
    for (int i = 0; i < 3; ++i) enqueue_slow_kernel(context);
    const comm::Work work = world.all_reduce(values, values);
    exposed.of([&] { work.wait(context); });
    CHECK(world.engine().waited_for_device_s() >= 2 * slow_s);
    CHECK(exposed.sum_s() <= monotonic_s() - started_s - 3 * slow_s);

    // What is waited for from now on is only enqueued, or is on the device already.
    const double waited_s = world.engine().waited_for_device_s(), exposed_before_s = exposed.sum_s();
    context.finish();
    const comm::Work again = world.all_reduce(values, values);
    while (!again.done()) groups.poll();
    const double began_s = monotonic_s();
    exposed.of([&] {
      again.wait(context);
      exposed.of([] { std::this_thread::sleep_for(std::chrono::duration<double>(slow_s)); });
    });
    CHECK(world.engine().waited_for_device_s() == waited_s);
    CHECK(exposed.sum_s() >= exposed_before_s + slow_s);
    CHECK(exposed.sum_s() - exposed_before_s <= monotonic_s() - began_s);  // what is within counts once
    return 0;
  });
}
