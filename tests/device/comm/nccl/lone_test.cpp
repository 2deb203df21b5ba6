// Groups of one rank on streams: they have no communicator of NCCL's, and the results of any group.

#include "comm/device_collectives/device_transport.hpp"
#include "device/comm/nccl/streams.hpp"
#include "device/nccl/stand_in.hpp"

using namespace dt;
using namespace dt::comm;
using namespace dt::comm::test;

namespace {

constexpr int num_ranks = 3;

void check_operations(Communicator& group, Computing& computing) {
  for (const bool in_place : {false, true}) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::i64}) {
      check_all_reduce(group, computing, {4099, dtype, in_place});
      check_parts(group, computing, {4099, dtype, in_place, 64});
    }
  }
  check_broadcast(group, computing, {4099, DType::u8}, 0);
}

}  // namespace

TEST_CASE("a split into single ranks makes no communicator of NCCL's", "[test-device]") {
  for (const ReduceOrder order : {ReduceOrder::tree, ReduceOrder::free}) {
    run_on_streams(1, num_ranks, order, [](Communicator& world, Computing& computing) {
      const long before = test_device::num_nccl_communicators();
      world.barrier().wait_host();
      const auto alone = world.split(world.rank(), 0, "alone");
      const auto again = alone->split(0, 0, "alone again");
      require(!alone->split(std::nullopt, 0, ""), "a rank without a color has a group");
      const auto last_is_alone =
          world.split(world.rank() / (num_ranks - 1), 0, "all but the last, and the last");
      world.barrier().wait_host();
      require(test_device::num_nccl_communicators() == before + num_ranks - 1,
              "other groups than those of several ranks have communicators");
      for (Communicator* const group : {alone.get(), again.get(), last_is_alone.get()}) {
        require(group->has_device_transport(), "a group has no streams");
        check_operations(*group, computing);
      }
      world.barrier().wait_host();
    });
  }
}

TEST_CASE("a rank alone copies what its transport sums or gathers", "[test-device]") {
  const test_device::Use device(1);
  const Context context(1, Device::gpu(0));
  const Buffer memory(context.device(), 2 * 4096), host(Device::host(), 4096);
  const Tensor in(memory, DType::f32, {1024}), out(memory, DType::f32, {1024}, 4096),
      seen(host, DType::f32, {1024});
  SingleRankTransport lone(context.device());
  using Operation = std::function<void()>;
  float value = 0;
  for (const Operation& operation :
       {Operation([&] { lone.all_reduce(context.stream(), in, out, Reduction::sum); }),
        Operation([&] { lone.reduce_scatter(context.stream(), in, out, Reduction::max); }),
        Operation([&] { lone.all_gather(context.stream(), in, out); })}) {
    kernels::fill(context, ++value, in);
    context.flush();
    operation();
    kernels::copy(context, out, seen);
    context.synchronize();
    CHECK(seen.data<float>()[1023] == value);
  }
  const std::array to_itself{DeviceTransport::Transfer{0, in, true}};
  CHECK_THROWS(lone.exchange(context.stream(), to_itself));
}

TEST_CASE("when communication ends, it ends beside groups of single ranks, too", "[test-device]") {
  run_on_streams(1, 2, ReduceOrder::tree, [](Communicator& world, Computing& computing) {
    const auto alone = world.split(world.rank(), 0, "alone");
    world.engine().set_timeout(0.2);
    if (world.rank() == 1) return;
    const Tensor data = computing.unwritten(DType::f32, 100);
    const Work work = world.all_reduce(data, data);
    const Error error = error_of([&] { work.wait_host(); });
    require(error.message().find("a rank has not entered it") != std::string::npos, error.message());
    require(error_of([&] { alone->all_reduce(data, data); }).message() == error.message(), "it goes on");
  });
}
