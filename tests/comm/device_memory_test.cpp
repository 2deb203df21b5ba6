// Operations on memory of a device: the bits of the host's, in the order of streams.

#include <catch2/catch.hpp>
#include <cstring>
#include <deque>
#include <fmt/format.h>

#include "comm/backend.hpp"
#include "comm/samples.hpp"
#include "comm/threads/thread_group.hpp"
#include "device/test_device.hpp"
#include "kernels/elementwise.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;
using namespace dt::comm;
using namespace dt::comm::test;

namespace {

/// A rank's device: whatever it is given lies in its streams until somebody waits.
class Computing {
 public:
  Computing(Communicator& group, const PortionLimits& limits) : context(1, Device::gpu(group.rank() % 2)) {
    computes_on_.emplace(group.engine(), context, limits);
  }
  Tensor unwritten(DType dtype, std::int64_t numel) {
    return Tensor(
        buffers_.emplace_back(context.device(), static_cast<std::size_t>(numel) * dtype_bytes(dtype)), dtype,
        {numel});
  }
  /// With a host tensor's values, once its stream comes to that.
  Tensor placed(const Tensor& values) {
    const Tensor there = unwritten(values.dtype(), values.numel());
    kernels::copy(context, values, there);
    return there;
  }
  /// What the context would read next, read when all else has been enqueued.
  bool has_values(const Tensor& tensor, const Tensor& expected) {
    const Tensor next = unwritten(tensor.dtype(), tensor.numel());
    kernels::copy(context, tensor, next);
    Buffer host(Device::host(), tensor.bytes());
    const Tensor here(host, tensor.dtype(), tensor.shape());
    kernels::copy(context, next, here);
    accelerator().wait(context.stream());
    return tensor.bytes() == 0 || std::memcmp(here.raw(), expected.raw(), expected.bytes()) == 0;
  }

  /// All that was placed is not needed any more.
  void forget() { buffers_.clear(); }

  Context context;

 private:
  std::deque<Buffer> buffers_;
  std::optional<ComputesOn> computes_on_;
};

std::string two_per_host(int rank) {
  return "n" + std::to_string(rank / 2);
}

using Body = std::function<void(Communicator&, Computing&)>;

void on_devices_of(std::uint64_t seed, int size, const HostOf& host_of, const Body& body,
                   const PortionLimits& limits = {}) {
  const test_device::Use device(seed);
  const auto body_of_rank = [&](Communicator& group) {
    Computing computing(group, limits);
    body(group, computing);
    return 0;
  };
  INFO(size << " ranks, seed " << seed);
  CHECK_NOTHROW(run_threads(size, body_of_rank, host_of));
}

/// As ranks lie on one host, each on its own, and two on each.
void on_devices(const Body& body, const PortionLimits& limits = {}) {
  std::uint64_t seed = 1;
  for (const int size : {1, 2, 3, 4}) {
    on_devices_of(seed++, size, same_host, body, limits);
    on_devices_of(seed++, size, own_host, body, limits);
  }
  on_devices_of(seed, 4, two_per_host, body, limits);
}

/// What rank `rank` brings, and room for what the host makes of it.
struct HostValues {
  HostValues(DType dtype, std::int64_t numel, int rank)
      : in_(Device::host(), static_cast<std::size_t>(numel) * dtype_bytes(dtype)),
        out_(Device::host(), in_.bytes()),
        in(in_, dtype, {numel}),
        out(out_, dtype, {numel}) {
    if (dtype == DType::f32) {
      for (std::int64_t i = 0; i < numel; ++i)
        in.data<float>()[i] = sample<DType::f32>(Values::wild, rank, i);
    } else {
      for (std::int64_t i = 0; i < std::ssize(in.span_bytes()); ++i)
        in.raw()[i] = std::byte(random_bits(rank, i) & 0x3f);  // no NaN of any dtype
    }
  }

 private:
  Buffer in_, out_;

 public:
  Tensor in, out;
};

struct Case {
  std::int64_t numel;
  DType dtype = DType::f32;
  bool in_place = false;
  std::int64_t granule = 1;
};

std::string words(const char* name, const Case& c, const Communicator& group) {
  return fmt::format("{} of {} {} elements by {} ranks, in place: {}", name, c.numel, dtype_name(c.dtype),
                     group.size(), c.in_place);
}

void check_all_reduce(Communicator& group, Computing& computing, const Case& c) {
  HostValues values(c.dtype, c.numel, group.rank());
  group.all_reduce(values.in, values.out).wait_host();
  const Tensor in = computing.placed(values.in);
  const Tensor out = c.in_place ? in : computing.unwritten(c.dtype, c.numel);
  group.all_reduce(in, out).wait(computing.context);
  if (!c.in_place) kernels::zero(computing.context, in);
  require(computing.has_values(out, values.out), words("all_reduce", c, group));
  computing.forget();
}

void check_parts(Communicator& group, Computing& computing, const Case& c) {
  const Part own = part_of(group.rank(), group.size(), c.numel, c.granule);
  HostValues values(c.dtype, c.numel, group.rank());
  const Tensor expected = values.out.flat(own.begin, own.count);
  group.reduce_scatter(values.in, expected, Reduction::sum, c.granule).wait_host();
  const Tensor in = computing.placed(values.in);
  const Tensor part = c.in_place ? in.flat(own.begin, own.count) : computing.unwritten(c.dtype, own.count);
  group.reduce_scatter(in, part, Reduction::sum, c.granule).wait(computing.context);
  require(computing.has_values(part, expected), words("reduce_scatter", c, group));

  group.all_gather(expected, values.out, c.granule).wait_host();
  const Tensor all = c.in_place ? in : computing.unwritten(c.dtype, c.numel);
  group.all_gather(part, all, c.granule).wait(computing.context);
  require(computing.has_values(all, values.out), words("all_gather", c, group));
  computing.forget();
}

void check_broadcast(Communicator& group, Computing& computing, const Case& c, int root) {
  const HostValues values(c.dtype, c.numel, group.rank()), expected(c.dtype, c.numel, root);
  const Tensor data = computing.placed(values.in);
  group.broadcast(data, root).wait(computing.context);
  require(computing.has_values(data, expected.in), words("broadcast", c, group));
  computing.forget();
}

void check_shift(Communicator& group, Computing& computing, const Case& c) {
  if (group.size() == 1) return;
  const int before = (group.rank() + group.size() - 1) % group.size();
  const HostValues values(c.dtype, c.numel, group.rank()), expected(c.dtype, c.numel, before);
  const Tensor own = computing.placed(values.in), arriving = computing.placed(values.in);
  const Work arrives = group.receive(before, arriving);
  group.send((group.rank() + 1) % group.size(), own).wait(computing.context);
  kernels::zero(computing.context, own);
  arrives.wait(computing.context);
  require(computing.has_values(arriving, expected.in), words("send and receive", c, group));
  computing.forget();
}

}  // namespace

TEST_CASE("operations on a device's memory have the bits of the host's, at once and in portions",
          "[device]") {
  const auto body = [](Communicator& group, Computing& computing) {
    for (const bool in_place : {false, true}) {
      for (const std::int64_t numel : {1, 4099, 40'000, 700'001}) {
        check_all_reduce(group, computing, {numel, DType::f32, in_place});
        check_parts(group, computing, {numel, DType::f32, in_place});
      }
      check_all_reduce(group, computing, {100'003, DType::bf16, in_place});
      check_parts(group, computing, {100'003, DType::bf16, in_place, 4096});
      check_parts(group, computing, {100, DType::i64, in_place, 4096});  // some parts are empty
      check_all_reduce(group, computing, {0, DType::f32, in_place});
    }
    for (const std::int64_t numel : {4099, 700'001}) {
      for (int root = 0; root < group.size(); ++root)
        check_broadcast(group, computing, {numel, DType::u8}, root);
      check_shift(group, computing, {numel});
    }
  };
  on_devices(body);
  on_devices(body, {.bytes = 300'000, .most_on_host = 2});
}

TEST_CASE("of operations in portions pinned memory holds few, whoever waits for whom", "[device]") {
  static constexpr PortionLimits limits{.bytes = 4096, .most_on_host = 3};
  const auto body = [](Communicator& world, Computing& computing) {
    const std::unique_ptr<Communicator> half = world.split(world.rank() % 2, world.rank(), "half");
    constexpr std::int64_t numel = 40'000;  // 40 portions
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
      // All send first, so that nobody could receive if sends took all memory.
      const Tensor own = computing.placed(sum.in), there = computing.unwritten(DType::f32, numel);
      works.push_back(world.send(next, own));
      expect(there, arriving.in, world.receive(before, there));
    }
    for (auto work = works.rbegin(); work != works.rend(); ++work) work->wait(computing.context);
    for (const auto& [there, values] : expected)
      require(computing.has_values(there, values), "one of several operations in portions is wrong");
    constexpr std::size_t lanes = 4;
    require(world.engine().device_link()->most_pinned_bytes() <= lanes * limits.most_on_host * limits.bytes,
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
      kernels::add(computing.context, tensors[i], tensors[i], tensors[i]);  // exact, also of the sum
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
      // Of a stream that follows none.
      const OwnStream stream(computing.context.device());
      Buffer host(Device::host(), data.bytes());
      accelerator().copy(stream, host.data(), data.raw(), data.bytes());
      accelerator().wait(stream);
      require(std::memcmp(host.data(), values.out.raw(), data.bytes()) == 0, "the host came too early");
    }
    require(group.engine().device_link()->most_pinned_bytes() == values.in.bytes(),
            "pinned memory is not used again");
  });
}

TEST_CASE("memory of a device where a rank does not compute is refused", "[devices]") {
  const test_device::Use device(1);
  run_alone([](Communicator& group) {
    const Context context(1, Device::gpu(0)), other(1, Device::gpu(1));
    const Buffer here(context.device(), 64), there(other.device(), 64);
    const Tensor a(here, DType::f32, {16}), b(there, DType::f32, {16});
    CHECK(error_of([&] { group.all_reduce(a, a); }).kind() == ErrorKind::internal);
    const ComputesOn computes_on(group.engine(), context);
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
      require(late.message().find("is not done after") != std::string::npos, late.message());
      world.engine().set_timeout(0);
      require(computing.has_values(data, values.in), "an operation that was given up has written");
    }
    check_all_reduce(world, computing, {1000});
  });
}
