// Operations on a device that has stopped.

#include <catch2/catch.hpp>

#include "comm/backend.hpp"
#include "comm/threads/thread_group.hpp"
#include "device/test_device.hpp"

using namespace dt;
using namespace dt::comm;
using namespace dt::comm::test;

TEST_CASE("an operation on a device that hangs fails, naming it, and so does what comes later",
          "[test-device]") {
  test_device::Use device(1);
  device.break_at(1, test_device::Use::Fault::hang);
  accelerator().set_timeout(0.05);
  run_alone([](Communicator& group) {
    const Context context(1, Device::gpu(0));
    const ScopedDevice computes_on(group.engine(), context);
    const Buffer memory(context.device(), 400);
    const Tensor data(memory, DType::f32, {100});
    test_device::enqueue(context, {"a kernel", {}, 1, 0, [] {}});
    const auto reason = [&](const std::function<void()>& deed) {
      const Error error = error_of(deed);
      CHECK(error.kind() == ErrorKind::environment);
      return error.message();
    };
    const std::string first = reason([&] { group.all_reduce(data, data).wait_host(); });
    CHECK_THAT(first, Catch::Contains("cuda:0") && Catch::Contains("computing did not complete within"));
    CHECK(reason([&] { group.all_reduce(data, data); }) == first);
    CHECK(reason([&] { context.synchronize(); }) == first);
    return 0;
  });
}
