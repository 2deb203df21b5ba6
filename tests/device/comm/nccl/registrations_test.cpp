// Memory that ranks exchange is registered with NCCL for as long as it exists.

#include "device/comm/nccl/streams.hpp"
#include "device/nccl/stand_in.hpp"

using namespace dt;
using namespace dt::comm;
using namespace dt::comm::test;

TEST_CASE("what is exchanged is registered once, and not any more when it goes", "[test-device]") {
  run_on_streams(1, 1, ReduceOrder::tree, [](Communicator& group, Computing& computing) {
    const auto transport = device_transport_library()->open(group, computing.context.device(), timeout_s);
    std::optional<Buffer> memory(std::in_place, computing.context.device(), 1000);
    const Tensor first(*memory, DType::u8, {10}), second(*memory, DType::u8, {10}, 256);
    const ScopedStream stream(computing.context.device());
    const long before = test_device::num_nccl_registrations();
    transport->broadcast(stream, first, 0);
    transport->broadcast(stream, second, 0);
    require(test_device::num_nccl_registrations() == before + 1, "one stretch is registered otherwise");
    memory.reset();
    require(test_device::num_nccl_registrations() == before, "what has gone is registered");
  });
}

TEST_CASE("memory of an aborted communicator may go", "[test-device]") {
  run_on_streams(1, 1, ReduceOrder::tree, [](Communicator& group, Computing& computing) {
    const auto transport = device_transport_library()->open(group, computing.context.device(), timeout_s);
    const ScopedStream stream(computing.context.device());
    {
      const Buffer memory(computing.context.device(), 1000);
      transport->broadcast(stream, Tensor(memory, DType::u8, {10}), 0);
      transport->abort();
    }
    require(test_device::num_nccl_registrations() == 0, "something is registered still");
  });
}
