// Operations on a device's memory have the bits of the host's, in the order of streams.

#include <catch2/catch.hpp>

#include "comm/device_operations.hpp"
#include "comm/threads/thread_group.hpp"
#include "device/test_device.hpp"

using namespace dt;
using namespace dt::comm;
using namespace dt::comm::test;

namespace {

std::string two_per_host(int rank) {
  return "n" + std::to_string(rank / 2);
}

using Body = std::function<void(Communicator&, Computing&)>;

void on_devices_of(std::uint64_t seed, int size, const HostOf& host_of, const Body& body,
                   const PinnedLimits& limits = {}) {
  const test_device::Use device(seed);
  const auto body_of_rank = [&](Communicator& group) {
    Computing computing(group, Device::gpu(group.rank() % 2), limits);
    body(group, computing);
    return 0;
  };
  INFO(size << " ranks, seed " << seed);
  CHECK_NOTHROW(run_threads(size, body_of_rank, host_of));
}

/// Runs with all ranks on one host, each on its own, and two on each.
void on_devices(const Body& body, const PinnedLimits& limits = {}) {
  std::uint64_t seed = 1;
  for (const int size : {1, 2, 3, 4}) {
    on_devices_of(seed++, size, same_host, body, limits);
    on_devices_of(seed++, size, own_host, body, limits);
  }
  on_devices_of(seed, 4, two_per_host, body, limits);
}

}  // namespace

TEST_CASE("operations on a device's memory have the bits of the host's, at once and in chunks",
          "[device][slow]") {
  const auto body = [](Communicator& group, Computing& computing) {
    for (const bool in_place : {false, true}) {
      for (const std::int64_t numel : {1, 4099, 40'000, 700'001}) {
        check_all_reduce(group, computing, {numel, DType::f32, in_place});
        check_parts(group, computing, {numel, DType::f32, in_place});
      }
      check_all_reduce(group, computing, {100'003, DType::bf16, in_place});
      check_parts(group, computing, {100'003, DType::bf16, in_place, 4096});
      check_parts(group, computing, {100, DType::i64, in_place, 4096});  // some ranges are empty
      check_all_reduce(group, computing, {0, DType::f32, in_place});
    }
    for (const bool in_place : {false, true}) {
      check_rooted(group, computing, {1, DType::f32, in_place}, group.size() - 1);
      check_rooted(group, computing, {60'001, DType::bf16, in_place}, 0);
    }
    for (const std::int64_t numel : {4099, 700'001}) {
      for (int root = 0; root < group.size(); ++root)
        check_broadcast(group, computing, {numel, DType::u8}, root);
      check_shift(group, computing, {numel});
      check_exchange(group, computing, {numel});
    }
    for (const DType dtype : {DType::u8, DType::f32}) check_all_to_all(group, computing, dtype, 100'003);
    check_all_reduce(group, computing, {4099});  // ranks agree on the order after different numbers of chunks
  };
  on_devices(body);
  on_devices(body, {.bytes = 300'000, .max_host_bytes = 2});
}

TEST_CASE("pinned memory holds few chunks of operations, whichever rank waits", "[device][slow]") {
  static constexpr PinnedLimits limits{.bytes = 4096, .max_host_bytes = 3};
  const auto body = [](Communicator& world, Computing& computing) {
    const std::unique_ptr<Communicator> half = world.split(world.rank() % 2, world.rank(), "half");
    constexpr std::int64_t numel = 40'000;  // 40 transfer chunks
    const int next = (world.rank() + 1) % world.size(),
              before = (world.rank() + world.size() - 1) % world.size();
    HostValues sum(DType::f32, numel, world.rank()), half_sum(DType::f32, numel, world.rank());
    world.all_reduce(sum.in, sum.out).wait_host();
    half->all_reduce(half_sum.in, half_sum.out).wait_host();
    const HostValues arriving(DType::f32, numel, before);
    std::vector<Work> works;
    std::vector<std::pair<Tensor, Tensor>> expected;
    const auto expect = [&](const Tensor& there, const Tensor& values, Work work) {
      expected.emplace_back(there, values);
      works.push_back(std::move(work));
    };
    for (int i = 0; i < 3; ++i) {
      const Tensor all = computing.placed(sum.in), some = computing.placed(half_sum.in);
      expect(all, sum.out, world.all_reduce(all, all));
      expect(some, half_sum.out, half->all_reduce(some, some));
      if (world.size() == 1) continue;
      // All ranks send first, so that no rank could receive if sends took all memory.
      const Tensor own = computing.placed(sum.in), there = computing.unwritten(DType::f32, numel);
      works.push_back(world.send(next, own));
      expect(there, arriving.in, world.receive(before, there));
    }
    for (auto work = works.rbegin(); work != works.rend(); ++work) work->wait(computing.context);
    for (const auto& [there, values] : expected)
      require(computing.has_values(there, values), "one of several operations in chunks is wrong");
    constexpr std::size_t lanes = 4;
    require(world.engine().device_link()->peak_pinned_bytes() <= lanes * limits.max_host_bytes * limits.bytes,
            "pinned memory is not bounded");
  };
  on_devices(body, limits);
}

TEST_CASE("operations of several groups on a device go side by side, and come after what was computed before",
          "[device]") {
  on_devices([](Communicator& world, Computing& computing) {
    const std::unique_ptr<Communicator> half = world.split(world.rank() % 2, world.rank(), "half");
    std::deque<HostValues> values;
    std::vector<Tensor> tensors;
    std::vector<Work> works;
    const auto group = [&](std::size_t i) -> Communicator& { return i % 2 == 0 ? world : *half; };
    for (std::size_t i = 0; i < 8; ++i) {
      HostValues& one =
          values.emplace_back(DType::f32, 3000 + 20'000 * static_cast<std::int64_t>(i), world.rank());
      group(i).all_reduce(one.in, one.out).wait_host();
      tensors.push_back(computing.placed(one.in));
    }
    for (std::size_t i = 0; i < 8; ++i) {
      kernels::add(computing.context, tensors[i], tensors[i], tensors[i]);  // exact, also in the sum
      works.push_back(group(i).all_reduce(tensors[i], tensors[i]));
    }
    for (std::size_t i = 0; i < 8; ++i) {
      const std::size_t at = (3 * i + static_cast<std::size_t>(world.rank())) % 8;
      works[at].wait(computing.context);
      kernels::add(computing.context, tensors[at], tensors[at], tensors[at]);
    }
    for (std::size_t i = 0; i < 8; ++i) {
      for (float& value : values[i].out.span<float>()) value *= 4;
      require(computing.has_values(tensors[i], values[i].out), "one of several operations is wrong");
    }
  });
}

TEST_CASE("messages from the host and from its device arrive in the order of their sends", "[device]") {
  on_devices([](Communicator& group, Computing& computing) {
    if (group.size() == 1 || group.rank() > 1) return;
    constexpr std::int64_t numel = 1000, count = 12;
    std::deque<HostValues> values;
    std::vector<Work> works;
    std::vector<Tensor> arriving;
    for (int i = 0; i < count; ++i) {
      const Tensor own = values.emplace_back(DType::f32, numel, i).in;
      const bool is_on_device = (i + group.rank()) % 3 > 0;
      if (group.rank() == 0) {
        works.push_back(group.send(1, is_on_device ? computing.placed(own) : own));
      } else {
        arriving.push_back(is_on_device ? computing.unwritten(DType::f32, numel) : values.back().out);
        works.push_back(group.receive(0, arriving.back()));
      }
    }
    for (const Work& work : works) work.wait(computing.context);
    for (std::size_t i = 0; i < arriving.size(); ++i)
      require(computing.has_values(arriving[i], values[i].in), fmt::format("message {} is another", i));
  });
}

TEST_CASE("what the host waits for is on the device, and pinned memory is used again", "[device]") {
  on_devices([](Communicator& group, Computing& computing) {
    constexpr std::int64_t numel = 50'000;
    HostValues values(DType::f32, numel, group.rank());
    group.all_reduce(values.in, values.out).wait_host();
    for (int step = 0; step < 5; ++step) {
      const Tensor data = computing.placed(values.in);
      const Work work = group.all_reduce(data, data);
      work.wait_host();
      require(work.done(), "an operation is waited for and not done");
      // Copies by a stream that follows no other.
      const ScopedStream stream(computing.context.device());
      Buffer host(Device::host(), data.bytes());
      accelerator().copy(stream, host.data(), data.raw(), data.bytes());
      accelerator().synchronize(stream);
      require(std::memcmp(host.data(), values.out.raw(), data.bytes()) == 0, "the host came too early");
    }
    require(group.engine().device_link()->peak_pinned_bytes() == values.in.bytes(),
            "pinned memory is not used again");
  });
}

TEST_CASE("an all_to_all in chunks is recorded once, and ends with its last chunk", "[device]") {
  const auto body = [](Communicator& group, Computing& computing) {
    const auto count_of = [](int from, int to) { return std::int64_t{1000} * (from + 2 * to); };
    Parts parts(group, count_of, 4);
    const Tensor in = computing.placed(view_of(parts.in, DType::f32));
    const Tensor out = computing.unwritten(DType::f32, std::ssize(parts.expected) / 4);
    Recorder& recorder = group.engine().recorder();
    const std::int64_t operations = recorder.snapshot().operations;
    const Work work = group.all_to_all(in, out, parts.in_counts, parts.out_counts);
    require(recorder.snapshot().operations == operations + 1, "chunks are recorded as operations");
    work.wait_host();
    require(recorder.snapshot().in_flight.empty(), "an all_to_all that is done is under way");
    computing.forget();
  };
  on_devices(body, {.bytes = 4096, .max_host_bytes = 3});
}

TEST_CASE("memory of a device where a rank does not compute is refused", "[devices]") {
  const test_device::Use device(1);
  run_alone([](Communicator& group) {
    const Context context(1, Device::gpu(0)), other(1, Device::gpu(1));
    const Buffer here(context.device(), 64), there(other.device(), 64);
    const Tensor a(here, DType::f32, {16}), b(there, DType::f32, {16});
    CHECK(error_of([&] { group.all_reduce(a, a); }).kind() == ErrorKind::internal);
    const ScopedDevice computes_on(group.engine(), context);
    CHECK_NOTHROW(group.all_reduce(a, a).wait(context));
    CHECK(error_of([&] { group.all_reduce(b, b); }).kind() == ErrorKind::internal);
    CHECK(error_of([&] { group.all_reduce(a, b); }).kind() == ErrorKind::internal);
    std::vector<float> on_host(16);
    CHECK(error_of([&] { group.all_reduce(a, host_tensor(on_host)); }).kind() == ErrorKind::internal);
    return 0;
  });
}

TEST_CASE("an operation on a device that is given up leaves its memory alone, and others go on", "[device]") {
  on_devices_of(1, 3, own_host, [](Communicator& world, Computing& computing) {
    const std::unique_ptr<Communicator> doomed = world.split(0, world.rank(), "doomed");
    if (world.rank() > 0) {
      world.engine().set_timeout(0.2);
      HostValues values(DType::f32, 100'000, world.rank());
      const Tensor data = computing.placed(values.in);
      const Error late = error_of([&] { doomed->all_reduce(data, data).wait(computing.context); });
      require(late.message().find("did not complete within") != std::string::npos, late.message());
      world.engine().set_timeout(0);
      require(computing.has_values(data, values.in), "an operation that was given up has written");
    }
    check_all_reduce(world, computing, {1000});
  });
}
