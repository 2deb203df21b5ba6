#include "device/test_accelerator.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tensor/buffer.hpp"

namespace dt::test_device {

namespace {

constexpr double longest_settling_s = 20;
constexpr std::size_t memory_bytes = std::size_t{16} << 30;

/// Returns the address of a kernel, with which its key begins.
std::string name_of_kernel(const WorkKey& key) {
  return std::string(key.bytes().substr(0, sizeof(void*)));
}

std::string name_of(Device device) {
  return fmt::format("{}: {} (test device)", host_name(), device.to_string());
}

}  // namespace

/// A mark that makes the device do a little work at each query.
class TestAccelerator::TestEvent final : public TimedEvent {
 public:
  TestEvent(TestAccelerator& device, const StreamState& stream, OverAt over_at)
      : device_(device),
        of_(stream.device),
        work_(stream.name),
        made_s_(monotonic_s()),
        over_at_s_(std::move(over_at)) {}
  bool is_complete() override {
    const Lock lock(device_.mutex_);
    if (*over_at_s_ == 0) {
      std::optional<Opened> opened;
      device_.run_any(opened);
    }
    device_.throw_if_failed();
    if (*over_at_s_ != 0) return true;
    if (device_.limit_.is_expired(made_s_)) device_.limit_.fail(made_s_, name_of(of_), work_);
    return false;
  }
  void make_stream_wait(Stream stream) override { device_.make_stream_wait(stream, over_at_s_); }
  double elapsed_since_s(const TimedEvent& other) override {
    const OverAt before_s = dynamic_cast<const TestEvent&>(other).over_at_s_;
    DT_CHECK(*before_s != 0 && *over_at_s_ != 0, "times of marks that are not reached");
    return *over_at_s_ - *before_s;
  }

 private:
  TestAccelerator& device_;
  Device of_;
  std::string work_;
  double made_s_;
  OverAt over_at_s_;
};

std::vector<Gpu> TestAccelerator::gpus() {
  const char* const name = std::getenv("DT_TEST_DEVICE_NAME");
  const Gpu first{
      .name = name != nullptr ? name : "test device", .memory_bytes = memory_bytes, .software = "fibers"};
  const char* const count = std::getenv("DT_TEST_DEVICE_GPUS");
  std::vector<Gpu> gpus(count != nullptr ? std::stoul(count) : 2, first);
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    gpus[i].id = fmt::format("test-{}", i);
    gpus[i].address = fmt::format("test:{}", i);
    gpus[i].ordinal = static_cast<int>(i);
  }
  return gpus;
}

std::size_t TestAccelerator::free_bytes(Device) {
  const Lock lock(mutex_);
  return memory_bytes - std::min(memory_bytes, static_cast<std::size_t>(memory_.bytes()));
}

std::byte* TestAccelerator::allocate(Device of, std::size_t bytes) {
  if (waits_in_allocations_) synchronize_device(of);
  const Lock lock(mutex_);
  throw_if_failed();
  std::byte* const begin = memory_.allocate(bytes);
  ++counts_.allocations;
  if (DeferredFree::is_active()) ++counts_.in_lists;
  allocations_.add(begin, bytes);
  return begin;
}

void TestAccelerator::release(Device of, std::byte* memory) {
  synchronize_device(of);
  allocations_.remove(memory);
  const Lock lock(mutex_);
  ++counts_.frees;
  memory_.release(memory);
}

std::byte* TestAccelerator::allocate_pinned(std::size_t bytes) {
  auto* const memory = static_cast<std::byte*>(std::calloc(bytes, 1));
  pin(memory, bytes);
  return memory;
}

void TestAccelerator::release_pinned(std::byte* memory) {
  unpin(memory);
  std::free(memory);
}

void TestAccelerator::pin(std::byte* memory, std::size_t bytes) {
  const Lock lock(mutex_);
  ++counts_.pinnings;
  if (DeferredFree::is_active()) ++counts_.in_lists;
  pinned_.emplace(memory, bytes);
}

void TestAccelerator::unpin(std::byte* memory) {
  const Lock lock(mutex_);
  ++counts_.unpinnings;
  pinned_.erase(memory);
}

bool TestAccelerator::is_pinned(const std::byte* address) const {
  const auto after = pinned_.upper_bound(address);
  return after != pinned_.begin() && address < std::prev(after)->first + std::prev(after)->second;
}

Stream TestAccelerator::open_stream(Device device, const std::string& work) {
  const Lock lock(mutex_);
  throw_if_failed();
  return &streams_.emplace_back(StreamState{.work = {}, .device = device, .name = work});
}

void TestAccelerator::close_stream(Stream stream) {
  synchronize_device(stream->device);
  const Lock lock(mutex_);
  streams_.remove_if([&](const StreamState& state) { return &state == stream; });
}

void TestAccelerator::defer(Stream stream) {
  const Lock lock(mutex_);
  stream->kept = std::make_unique<GraphCache>(
      [this, stream](const GraphCache::Enqueue& enqueue) { return capture(stream, enqueue); });
}

void TestAccelerator::instantiate_graphs(Stream stream) {
  const Lock lock(mutex_);
  if (stream->kept) stream->kept->instantiate_graphs();
}

void TestAccelerator::submit(Stream stream, const WorkKey& key, std::function<void()> enqueue) {
  const Lock lock(mutex_);
  throw_if_failed();
  stream->kept ? stream->kept->defer(key, std::move(enqueue)) : enqueue();
}

void TestAccelerator::flush_and_run(Stream stream, const std::function<void()>& deed) {
  const Lock lock(mutex_);
  stream->kept ? stream->kept->flush_and_run(deed) : deed();
}

void TestAccelerator::enqueue(Stream stream, StreamState::Work work) {
  flush_and_run(stream, [&] {
    throw_if_failed();
    stream->work.push_back(std::move(work));
  });
}

void TestAccelerator::copy(Stream stream, std::byte* to, const std::byte* from, std::size_t bytes) {
  const Lock lock(mutex_);
  const auto move = [=, this] {
    linger();
    if (bytes > 0) std::memcpy(to, from, bytes);  // for 0 bytes the address may be null
  };
  if (memory_.has(from) && memory_.has(to))
    return submit(stream, WorkKey("copy", to, from, bytes), [=, this] { take(stream, {move, false}); });
  if (memory_.has(from)) ++counts_.reads;
  if (!is_pinned(memory_.has(from) ? to : from)) ++counts_.unpinned;
  ++counts_.moves;
  enqueue(stream, {move});
}

void TestAccelerator::zero(Stream stream, std::byte* memory, std::size_t bytes) {
  submit(stream, WorkKey("zero", memory, bytes), [=, this] {
    take(stream, {[=] {
                    if (bytes > 0) std::memset(memory, 0, bytes);
                  },
                  false});
  });
}

std::unique_ptr<TimedEvent> TestAccelerator::record_timed_event(Stream stream) {
  return std::make_unique<TestEvent>(*this, *stream, end_of(stream));
}

void TestAccelerator::synchronize(Stream stream) {
  {
    const Lock lock(mutex_);
    flush(stream);
    if (run_until([&] { return stream->work.empty(); })) return throw_if_failed();
    throw_if_failed();
    DT_CHECK(limit_.is_set(), "streams wait for each other");
  }
  const std::unique_ptr<Event> end = record_event(stream);
  poll_until([&] { return end->is_complete(); });
}

void TestAccelerator::begin_range(const std::string& name) {
  const Lock lock(mutex_);
  ranges_.names.push_back(name);
  ranges_.most_depth = std::max(ranges_.most_depth, ++ranges_.depth);
}

void TestAccelerator::end_range() {
  const Lock lock(mutex_);
  --ranges_.depth;
}

Use::Counts TestAccelerator::counts() const {
  Use::Counts counts = counts_;
  counts.bytes = memory_.bytes();
  counts.most_bytes = memory_.most_bytes();
  return counts;
}

void TestAccelerator::break_at(std::int64_t kernel, Use::Fault fault) {
  kernels_to_fault_ = kernel;
  fault_ = fault;
}

void TestAccelerator::leave_open() {
  const Lock lock(mutex_);
  memory_.leave_open();
}

TestAccelerator::Operation TestAccelerator::piece_of(Launch launch) {
  return {[this, launch = std::move(launch)] { run(launch, random_()); }};
}

TestAccelerator::Operation TestAccelerator::piece_of(std::function<void(std::uint64_t seed)> kernel) {
  return {[this, kernel = std::move(kernel)] { kernel(random_()); }};
}

void TestAccelerator::take(Stream stream, Operation piece) {
  if (skips_work_) return;
  if (captured_ != nullptr) return captured_->push_back(std::move(piece));
  throw_if_failed();
  if (piece.is_kernel) return launch(*stream, std::move(piece.run));
  ++counts_.moves;
  stream->work.push_back({std::move(piece.run)});
}

void TestAccelerator::launch(StreamState& stream, std::function<void()> kernel) {
  ++counts_.kernels;
  if (--kernels_to_fault_ != 0) {
    return stream.work.push_back({[this, kernel = std::move(kernel)] {
      linger();
      kernel();
    }});
  }
  if (fault_ == Use::Fault::hang) return stream.work.push_back({[] {}, [] { return false; }});
  stream.work.push_back({[this, device = stream.device] {
    failed_.emplace(ErrorKind::environment, name_of(device) + ": a kernel has failed");
  }});
}

void TestAccelerator::linger() const {
  if (more_s_ > 0) std::this_thread::sleep_for(std::chrono::duration<double>(more_s_));
}

void TestAccelerator::load_for(Device of, const Launch& launch, const WorkKey& key) {
  if (loading_ == Use::Loading::beforehand) return;
  if (loading_ == Use::Loading::of_libraries && launch.of_library.empty()) return;
  const std::string what = launch.of_library.empty() ? name_of_kernel(key) : launch.of_library;
  {
    const Lock lock(mutex_);
    if (!loaded_.emplace(of.index(), what).second) return;
  }
  synchronize_device(of);
}

void TestAccelerator::synchronize_device(Device of) {
  std::vector<std::pair<std::string, std::unique_ptr<Event>>> ends;
  {
    const Lock lock(mutex_);
    flush_all(of);
    run_until([] { return false; });
    for (StreamState& stream : streams_) {
      if (stream.device == of && !stream.work.empty() && !failed_)
        ends.emplace_back(stream.name, record_event(&stream));
    }
  }
  const double since_s = monotonic_s();
  try {
    for (const auto& [work, end] : ends) {
      poll_until([&] {
        if (!limit_.is_set() && monotonic_s() - since_s > longest_settling_s) fail_to_settle(of, work);
        return end->is_complete();
      });
    }
  } catch (const Error&) {
    // The next wait reports the error.
  }
}

void TestAccelerator::fail_to_settle(Device of, const std::string& work) {
  const Lock lock(mutex_);
  failed_.emplace(
      ErrorKind::internal,
      fmt::format("{}: memory is freed, or a kernel loaded, which waits in vain for {}", name_of(of), work));
  throw Error(*failed_);
}

void TestAccelerator::flush_all(Device device) {
  try {
    for (StreamState& stream : streams_) {
      if (stream.device == device) flush(&stream);
    }
  } catch (const Error&) {
    // The next use reports the error.
  }
}

GraphCache::Enqueue TestAccelerator::capture(Stream stream, const GraphCache::Enqueue& enqueue) {
  const auto pieces = std::make_shared<std::vector<Operation>>();
  ++counts_.graphs;
  captured_ = pieces.get();
  enqueue();
  captured_ = nullptr;
  return [this, stream, pieces] {
    ++counts_.launches;
    counts_.in_graphs += static_cast<std::int64_t>(pieces->size());
    for (const Operation& piece : *pieces) take(stream, piece);
  };
}

void TestAccelerator::make_stream_wait(Stream stream, OverAt until_s) {
  enqueue(stream, {[] {}, [until_s = std::move(until_s)] { return *until_s != 0; }, false});
}

TestAccelerator::OverAt TestAccelerator::end_of(Stream stream) {
  auto over_at_s = std::make_shared<double>(0);
  enqueue(stream, {.run = [over_at_s] { *over_at_s = monotonic_s(); }, .needs_memory = false});
  return over_at_s;
}

bool TestAccelerator::run_until(const std::function<bool()>& is_so) {
  std::optional<Opened> opened;
  while (!is_so()) {
    if (!run_any(opened)) return false;
  }
  return true;
}

bool TestAccelerator::run_any(std::optional<Opened>& opened) {
  if (failed_) return false;
  std::vector<StreamState*> ready;
  for (StreamState& stream : streams_) {
    if (stream.work.empty()) continue;
    if (stream.work.front().needs_memory && !opened) opened.emplace(*this);
    if (stream.work.front().may_begin()) ready.push_back(&stream);
  }
  if (ready.empty()) return false;
  StreamState& stream = *ready[random_() % ready.size()];
  const StreamState::Work work = std::move(stream.work.front());
  stream.work.pop_front();
  work.run();
  return true;
}

}  // namespace dt::test_device
