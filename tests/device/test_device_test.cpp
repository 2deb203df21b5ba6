#include "device/test_device.hpp"

#include <catch2/catch.hpp>
#include <csignal>
#include <functional>
#include <set>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "kernels/elementwise.hpp"
#include "kernels/linear.hpp"
#include "tensor/buffer.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::test_device {
namespace {

constexpr Device gpu = Device::gpu(0);

/// Returns the signal that ends a process that does the deed; 0 if none does.
int signal_of(const std::function<void()>& deed) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    deed();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST_CASE("a device's memory is zero, aligned, and not the host's to touch", "[test-device]") {
  const Use device(1);
  const ScopedStream stream(gpu);
  const Buffer buffer(gpu, 1000);
  CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % 256 == 0);
  std::vector<double> values(125, 1.0);
  accelerator().copy(stream, host_tensor(values).raw(), buffer.data(), 1000);
  accelerator().synchronize(stream);
  CHECK(values == std::vector<double>(125, 0.0));
  CHECK(signal_of([&] { *buffer.data() = std::byte{1}; }) == SIGSEGV);
  CHECK(signal_of([&] { static_cast<void>(*const_cast<volatile std::byte*>(buffer.data())); }) == SIGSEGV);
}

TEST_CASE("nothing is done before a wait", "[test-device]") {
  const Use device(1);
  Context context(1, gpu);
  bool done = false;
  enqueue(context, {"a kernel", {}, 1, 0, [&] { done = true; }});
  CHECK(!done);
  accelerator().synchronize(context.stream());
  CHECK(done);
}

TEST_CASE("a kernel that goes beyond its memory faults", "[test-device]") {
  const Use device(1);
  Context context(1, gpu);
  const Buffer buffer(gpu, 4096);
  const auto write = [&](std::size_t at) {
    enqueue(context, {"a kernel", {}, 1, 0, [&buffer, at] { buffer.data()[at] = std::byte{1}; }});
    accelerator().synchronize(context.stream());
  };
  CHECK(signal_of([&] { write(4095); }) == 0);
  CHECK(signal_of([&] { write(4096); }) == SIGSEGV);
}

TEST_CASE("of two streams any may be first, unless one follows the other", "[test-device]") {
  std::set<std::vector<int>> orders, followed;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const bool follows : {false, true}) {
      const Use device(seed);
      Context a(1, gpu), b(1, gpu);
      std::vector<int> order;
      enqueue(a, {"first", {}, 1, 0, [&] { order.push_back(1); }});
      if (follows) accelerator().wait_stream(b.stream(), a.stream());
      enqueue(b, {"second", {}, 1, 0, [&] { order.push_back(2); }});
      accelerator().synchronize(b.stream());
      accelerator().synchronize(a.stream());
      (follows ? followed : orders).insert(order);
    }
  }
  CHECK(orders.size() == 2);
  CHECK(followed == std::set<std::vector<int>>{{1, 2}});
}

TEST_CASE("a mark is reached when what came before it is done, by asking alone", "[test-device]") {
  const Use device(1);
  Context context(1, gpu);
  int done = 0;
  for (int i = 0; i < 3; ++i) enqueue(context, {"a kernel", {}, 1, 0, [&] { ++done; }});
  const std::unique_ptr<Event> mark = accelerator().record_event(context.stream());
  enqueue(context, {"a kernel", {}, 1, 0, [&] { ++done; }});
  CHECK(!mark->is_complete());
  while (!mark->is_complete()) continue;
  CHECK(done == 3);
}

TEST_CASE("memory goes when the device is done with it", "[test-device]") {
  const Use device(1);
  Context context(1, gpu);
  bool done = false;
  {
    const Buffer buffer(gpu, 64);
    enqueue(context, {"a kernel", {}, 1, 0, [&] {
                        *buffer.data() = std::byte{1};
                        done = true;
                      }});
  }
  CHECK(done);
}

/// Returns the message of the error, which must be an environment error.
std::string failure_of(const std::function<void()>& deed) {
  try {
    deed();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::environment);
    return error.message();
  }
  return "";
}

TEST_CASE("a kernel's error shows to whoever waits, and to all that come after", "[test-device]") {
  Use device(1);
  device.break_at(2, Use::Fault::error);
  Context context(1, gpu);
  const Buffer buffer(gpu, 64);
  int done = 0;
  for (int i = 0; i < 3; ++i) enqueue(context, {"a kernel", {}, 1, 0, [&] { ++done; }});
  const std::unique_ptr<Event> mark = accelerator().record_event(context.stream());
  CHECK_THAT(failure_of([&] { context.synchronize(); }), Catch::Contains("cuda:0"));
  CHECK(failure_of([&] { mark->is_complete(); }) != "");
  CHECK(failure_of([&] { accelerator().record_event(context.stream()); }) != "");
  CHECK(failure_of([&] { Context(1, gpu).synchronize(); }) != "");
  CHECK(done == 1);
}

TEST_CASE("a device that hangs is waited for until the time limit has passed, and then no more",
          "[test-device]") {
  Use device(1);
  device.break_at(1, Use::Fault::hang);
  Context context(1, gpu), other(1, gpu);
  const Buffer buffer(gpu, 64);
  enqueue(context, {"a kernel", {}, 1, 0, [] {}});
  accelerator().wait_stream(other.stream(), context.stream());
  const std::unique_ptr<Event> mark = accelerator().record_event(other.stream());
  CHECK(!mark->is_complete());
  accelerator().set_timeout(0.05);
  const std::string reason = failure_of([&] { context.synchronize(); });
  CHECK_THAT(reason, Catch::Contains("cuda:0") && Catch::Contains("computing did not complete within"));
  accelerator().set_timeout(1000);
  CHECK(failure_of([&] { mark->is_complete(); }) == reason);
  CHECK(failure_of([&] { other.synchronize(); }) == reason);
}

TEST_CASE("work that ends in time is waited for as without a limit", "[test-device]") {
  const Use device(1);
  accelerator().set_timeout(1000);
  Context context(1, gpu);
  int done = 0;
  for (int i = 0; i < 3; ++i) enqueue(context, {"a kernel", {}, 1, 0, [&] { ++done; }});
  context.synchronize();
  CHECK(done == 3);
}

TEST_CASE("the most memory at a time is counted", "[test-device]") {
  const Use device(1);
  {
    const Buffer one(gpu, 1000), other(gpu, 100);
    CHECK(device.counts().most_bytes == 1024 + 256);
  }
  const Buffer last(gpu, 256);
  CHECK(device.counts().bytes == 256);
  CHECK(device.counts().most_bytes == 1024 + 256);
}

TEST_CASE("copies and zeroes go by the stream", "[test-device]") {
  const Use device(1);
  Context context(1, gpu);
  std::vector<float> values{1, 2, 3}, back(3, -1);
  const Buffer buffer(gpu, 12);
  const Tensor there(buffer, DType::f32, {3});
  kernels::copy(context, host_tensor(values), there);
  kernels::zero(context, there.flat(1, 1));
  kernels::copy(context, there, host_tensor(back));
  CHECK(back == std::vector<float>(3, -1));
  accelerator().synchronize(context.stream());
  CHECK(back == std::vector<float>{1, 0, 3});
}

TEST_CASE("kernels, zeros and copies within the device that come again are launched as graphs",
          "[test-device]") {
  const Use device(1);
  Context context(1, gpu);
  const Buffer buffer(gpu, 4096);
  const Tensor a = Tensor(buffer, DType::f32, {1024}).flat(0, 100),
               b = Tensor(buffer, DType::f32, {1024}).flat(512, 100);
  std::vector<float> back(100);
  const auto step = [&](double value) {
    kernels::fill(context, 1, a);
    kernels::zero(context, b);
    kernels::add(context, a, b, b);
    kernels::copy(context, b, a);
    kernels::accumulate(context, a, b);
    kernels::copy(context, b, host_tensor(back));
    kernels::fill(context, value, a);
    context.synchronize();
    CHECK(back == std::vector<float>(100, 2));
  };
  for (int i = 0; i < 10; ++i) step(i);
  CHECK(device.counts().graphs == 1);
  CHECK(device.counts().launches == 8);
  CHECK(device.counts().in_graphs == 8 * 5);
  CHECK(device.counts().kernels == 10 * 4);
  CHECK(device.counts().moves == 10 * 3);
}

TEST_CASE("a kernel of a graph may fail as any other", "[test-device]") {
  Use device(1);
  Context context(1, gpu);
  const Buffer buffer(gpu, 400);
  const Tensor data(buffer, DType::f32, {100});
  const auto step = [&] {
    for (int i = 0; i < 6; ++i) kernels::fill(context, i, data);
    context.synchronize();
  };
  for (int i = 0; i < 3; ++i) step();
  device.break_at(4, Use::Fault::error);
  CHECK_THAT(failure_of(step), Catch::Contains("a kernel has failed"));
}

/// Work of another stream that takes its time: it is over after a number of polls.
class Lingering {
 public:
  Lingering() {
    enqueue(stream_, [this] { return ++asked_ > enough; });
  }
  bool is_over() const { return asked_ > enough; }

 private:
  static constexpr int enough = 100;
  int asked_ = 0;
  ScopedStream stream_{gpu};
};

TEST_CASE("freeing memory waits for all of a device's streams, unless it is retired", "[test-device]") {
  const Use device(1);
  {
    const Lingering other;
    { const Buffer buffer(gpu, 1000); }
    CHECK(other.is_over());
  }
  const Lingering other;
  const std::int64_t before = device.counts().bytes;
  DeferredFree retired;
  { const Buffer buffer(gpu, 1000); }
  { const Buffer buffer(Device::host(), 1000, Pages::pinned); }
  CHECK((retired.bytes() == 2000 && device.counts().bytes > before && !other.is_over()));
  retired.free();
  CHECK((retired.bytes() == 0 && device.counts().bytes == before && other.is_over()));
}

TEST_CASE("an arena frees none of its chunks while memory is retired", "[test-device]") {
  const Use device(1);
  const Context context(1, gpu);
  const auto take = [&] {
    const Arena::Scope scope(context.scratch());
    for (int i = 0; i < 2; ++i) context.scratch().allocate(DType::u8, {3 << 18});
  };
  {
    const DeferredFree retired;
    for (int i = 0; i < 3; ++i) take();
    CHECK((retired.bytes() == 0 && device.counts().allocations == 2));
  }
  take();
  CHECK((device.counts().allocations == 3 && context.scratch().capacity_bytes() == 6 << 18));
}

TEST_CASE("a kernel's first launch waits for the device where it is loaded then", "[test-device]") {
  for (const Use::Loading loading :
       {Use::Loading::beforehand, Use::Loading::of_libraries, Use::Loading::of_all}) {
    Use device(1);
    device.load(loading);
    const Context context(1, gpu);
    const Buffer memory(gpu, 1024);
    const Tensor x(memory, DType::f32, {8, 8});
    const auto waits = [&](const auto& launch) {
      const Lingering other;
      launch();
      return other.is_over();
    };
    const auto add = [&] { kernels::add(context, x, x, x); };
    const auto multiply = [&] {
      kernels::linear(context, x, x, {}, {}, Tensor(memory, DType::f32, {8, 8}, 512));
    };
    CHECK(waits(add) == (loading == Use::Loading::of_all));
    CHECK(waits(multiply) == (loading != Use::Loading::beforehand));
    CHECK((!waits(add) && !waits(multiply)));
    CHECK(device.loaded() == (loading == Use::Loading::beforehand ? 0
                              : loading == Use::Loading::of_all   ? 2
                                                                  : 1));
  }
}

}  // namespace
}  // namespace dt::test_device
