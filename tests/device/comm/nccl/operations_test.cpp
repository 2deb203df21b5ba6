// Operations on streams, by NCCL's calls, have the bits of messages.

#include "device/comm/nccl/streams.hpp"

using namespace dt;
using namespace dt::comm;
using namespace dt::comm::test;

namespace {

std::vector<int> group_sizes() {
  const test_device::Use device(1);
  return test_device::nccl_group_sizes();
}

void on_streams(const std::function<void(Communicator&, Computing&)>& body) {
  for (const int size : group_sizes()) {
    INFO(size << " ranks");
    CHECK_NOTHROW(run_on_streams(static_cast<std::uint64_t>(size), size, ReduceOrder::tree, body));
  }
}

/// Sends round a ring. Neighbours take turns in sending first; otherwise they would wait in vain.
void check_ring(Communicator& group, Computing& computing, std::int64_t numel) {
  if (group.size() == 1) return;
  const int after = (group.rank() + 1) % group.size(),
            before = (group.rank() + group.size() - 1) % group.size();
  const HostValues values(DType::f32, numel, group.rank()), expected(DType::f32, numel, before);
  const Tensor own = computing.placed(values.in), arriving = computing.placed(values.in);
  Work sent, arrived;
  if (group.rank() % 2 == 0) sent = group.send(after, own);
  arrived = group.receive(before, arriving);
  if (group.rank() % 2 == 1) sent = group.send(after, own);
  sent.wait(computing.context);
  kernels::zero(computing.context, own);
  arrived.wait(computing.context);
  require(computing.has_values(arriving, expected.in), "what went round is another");
  computing.forget();
}

}  // namespace

TEST_CASE("operations on streams have the bits of messages", "[devices][nccl]") {
  on_streams([](Communicator& group, Computing& computing) {
    for (const bool in_place : {false, true}) {
      for (const std::int64_t numel : {1, 4099, 40'000}) {
        check_all_reduce(group, computing, {numel, DType::f32, in_place});
        check_parts(group, computing, {numel, DType::f32, in_place});
      }
      for (const DType dtype : {DType::f64, DType::bf16, DType::f16, DType::i32, DType::i64}) {
        check_all_reduce(group, computing, {10'003, dtype, in_place});
        check_parts(group, computing, {10'003, dtype, in_place, 4096});
      }
      check_parts(group, computing, {100, DType::i64, in_place, 4096});  // some ranges are empty
      check_parts(group, computing, {840, DType::f32, in_place});        // all are equal
      check_all_reduce(group, computing, {0, DType::f32, in_place});
    }
    for (int root = 0; root < group.size(); ++root)
      check_broadcast(group, computing, {4099, DType::u8}, root);
    check_shift(group, computing, {4099});
    check_exchange(group, computing, {4099});
    check_shift(group, computing, {0});
    check_exchange(group, computing, {0});
    for (const bool in_place : {false, true}) {
      check_rooted(group, computing, {4099, DType::f32, in_place}, group.size() - 1);
      check_rooted(group, computing, {1, DType::bf16, in_place}, 0);
    }
    check_all_to_all(group, computing, DType::f32, 4099);
    check_all_to_all(group, computing, DType::bf16, 4099);
    check_ring(group, computing, 4099);
  });
}

TEST_CASE("operations on streams that need more memory than there is for them go in stretches",
          "[devices][nccl]") {
  on_streams([](Communicator& world, Computing& computing) {
    world.set_bucket_bytes(4096);
    const std::unique_ptr<Communicator> group = world.split(0, world.rank(), "small");
    check_all_reduce(*group, computing, {70'001, DType::f32, true});
    check_parts(*group, computing, {70'001, DType::bf16, false, 64});
  });
}

TEST_CASE("ranks on several nodes sum within each first, with the bits of messages", "[devices][nccl]") {
  const auto body = [](Communicator& world, Computing& computing) {
    world.set_bucket_bytes(8192);
    const std::unique_ptr<Communicator> group = world.split(0, world.rank(), "small");
    for (const DType dtype : {DType::f32, DType::bf16}) {
      check_all_reduce(*group, computing, {70'001, dtype, true});
      check_parts(*group, computing, {70'001, dtype, false, 64});
      check_all_reduce(*group, computing, {100, dtype, false});
      check_rooted(*group, computing, {10'001, dtype, false}, group->size() / 2);
    }
  };
  for (const int size : group_sizes()) {
    for (const int per_host : {2, 4}) {
      if (size <= per_host) continue;
      INFO(size << " ranks, " << per_host << " a node");
      const auto host_of = [per_host](int rank) { return "n" + std::to_string(rank / per_host); };
      CHECK_NOTHROW(run_on_streams(static_cast<std::uint64_t>(size), size, ReduceOrder::tree, body, host_of));
    }
  }
}

TEST_CASE("groups made of groups go through streams, side by side, and after what was computed before",
          "[devices][nccl]") {
  on_streams([](Communicator& world, Computing& computing) {
    const std::unique_ptr<Communicator> half = world.split(world.rank() % 2, -world.rank(), "half");
    const std::unique_ptr<Communicator> first =
        world.split(world.rank() == 0 ? std::nullopt : std::optional(0), world.rank(), "without the first");
    require(half->has_device_transport() && (!first || first->has_device_transport()),
            "a group has no streams");
    std::deque<HostValues> values;
    std::vector<Tensor> tensors;
    std::vector<Work> works;
    const auto group = [&](std::size_t i) -> Communicator& { return i % 2 == 0 ? world : *half; };
    for (std::size_t i = 0; i < 6; ++i) {
      HostValues& one =
          values.emplace_back(DType::f32, 3000 + 20'000 * static_cast<std::int64_t>(i), world.rank());
      group(i).all_reduce(one.in, one.out).wait_host();
      tensors.push_back(computing.placed(one.in));
    }
    for (std::size_t i = 0; i < 6; ++i) {
      kernels::add(computing.context, tensors[i], tensors[i], tensors[i]);  // exact, also in the sum
      works.push_back(group(i).all_reduce(tensors[i], tensors[i]));
    }
    for (std::size_t i = 0; i < 6; ++i) {
      const std::size_t at = (5 * i + static_cast<std::size_t>(world.rank())) % 6;
      works[at].wait(computing.context);
      kernels::add(computing.context, tensors[at], tensors[at], tensors[at]);
    }
    for (std::size_t i = 0; i < 6; ++i) {
      for (float& value : values[i].out.span<float>()) value *= 4;
      require(computing.has_values(tensors[i], values[i].out), "one of several operations is wrong");
    }
  });
}

TEST_CASE("what the host waits for of streams is there, is recorded, and is no message", "[devices][nccl]") {
  on_streams([](Communicator& group, Computing& computing) {
    HostValues values(DType::f32, 50'000, group.rank());
    group.all_reduce(values.in, values.out).wait_host();
    Recorder& recorder = group.engine().recorder();
    const std::int64_t messages = recorder.message_bytes(), bytes = recorder.bytes(OperationKind::all_reduce);
    const Tensor data = computing.placed(values.in);
    const Work work = group.all_reduce(data, data);
    work.wait_host();
    require(work.done() && recorder.snapshot().in_flight.empty(), "an operation is waited for and not done");
    require(recorder.message_bytes() == messages, "it went by messages");
    require(recorder.bytes(OperationKind::all_reduce) == bytes + 200'000, "it was not recorded");
    const ScopedStream stream(computing.context.device());
    Buffer host(Device::host(), data.bytes());
    accelerator().copy(stream, host.data(), data.raw(), data.bytes());
    accelerator().synchronize(stream);
    require(std::memcmp(host.data(), values.out.raw(), data.bytes()) == 0, "the host came too early");
  });
}

TEST_CASE("an operation on a stream that is kept has the stream's times", "[devices][nccl]") {
  on_streams([](Communicator& group, Computing& computing) {
    Recorder& recorder = group.engine().recorder();
    HostValues values(DType::f32, 50'000, group.rank());
    const Tensor data = computing.placed(values.in);
    const auto clock = std::make_shared<const DeviceClock>(computing.context.stream());
    recorder.start_details(clock);
    group.all_reduce(data, data).wait_host();
    const std::vector<OperationRecord> kept = recorder.take_details();
    const OperationRecord host = recorder.snapshot().newest.back();
    require(kept.size() == 1 && kept[0].ticket == host.ticket, "what was kept is another operation");
    const double error_s = clock->error_s();
    require(kept[0].started_s > host.started_s - error_s && kept[0].started_s != host.started_s,
            "it has not the stream's start");
    require(kept[0].finished_s < host.finished_s + error_s && kept[0].finished_s >= kept[0].started_s,
            "it has not the stream's end");
  });
}

TEST_CASE("a rank that starts many operations on a stream is held up, and all complete", "[devices][nccl]") {
  on_streams([](Communicator& group, Computing& computing) {
    const HostValues values(DType::i64, 10, 0);
    const Tensor data = computing.placed(values.in);
    std::vector<Work> works;
    for (int i = 0; i < 200; ++i) works.push_back(group.broadcast(data, i % group.size()));
    for (const Work& work : works) work.wait(computing.context);
    require(computing.has_values(data, values.in), "one of many broadcasts is wrong");
  });
}
