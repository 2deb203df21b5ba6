#pragma once
// The test device as programs see it (tensor/device/accelerator.hpp), with the controls that tests have
// (device/test_device.hpp).

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "device/closed_memory.hpp"
#include "device/test_device.hpp"
#include "tensor/device/accelerator.hpp"
#include "tensor/device/device_timeout.hpp"
#include "tensor/device/graph_cache.hpp"

namespace dt {

struct StreamState {
  struct Work {
    std::function<void()> run;
    std::function<bool()> may_begin = [] { return true; };
    bool needs_memory = true;  // for either function
  };
  std::deque<Work> work;
  Device device;
  std::string name;
  std::unique_ptr<GraphCache> kept{};  // null: nothing is kept back
};

}  // namespace dt

namespace dt::test_device {

class TestAccelerator final : public Accelerator {
 public:
  explicit TestAccelerator(std::uint64_t seed) : random_(seed) {}

  std::vector<Gpu> gpus() override;
  std::size_t free_bytes(Device) override;
  void select(Device) override {}
  void set_timeout(double seconds) override { limit_.set(seconds); }

  std::byte* allocate(Device of, std::size_t bytes) override;
  void release(Device of, std::byte* memory) override;
  std::byte* allocate_pinned(std::size_t bytes) override;
  void release_pinned(std::byte* memory) override;
  void pin(std::byte* memory, std::size_t bytes) override;
  void unpin(std::byte* memory) override;

  Stream open_stream(Device device, const std::string& work) override;
  void close_stream(Stream stream) override;
  void defer(Stream stream) override;
  void flush(Stream stream) override {
    flush_and_run(stream, [] {});
  }
  void instantiate_graphs(Stream stream) override;
  void submit(Stream stream, const WorkKey& key, std::function<void()> enqueue) override;
  void copy(Stream stream, std::byte* to, const std::byte* from, std::size_t bytes) override;
  void zero(Stream stream, std::byte* memory, std::size_t bytes) override;
  std::unique_ptr<Event> record_event(Stream stream) override { return record_timed_event(stream); }
  std::unique_ptr<TimedEvent> record_timed_event(Stream stream) override;
  void wait_stream(Stream stream, Stream other) override { make_stream_wait(stream, end_of(other)); }
  void synchronize(Stream stream) override;

  bool profiler_attached() override { return is_listened_to_; }
  void begin_range(const std::string& name) override;
  void end_range() override;

  /// Does `deed` after the deferred work.
  void flush_and_run(Stream stream, const std::function<void()>& deed);
  void enqueue(Stream stream, StreamState::Work work);
  /// Work that can be deferred. It goes to its stream, or to the graph that is being made of it.
  struct Operation {
    std::function<void()> run;
    bool is_kernel = true;
  };
  /// Makes a piece of a kernel, to be given or kept.
  Operation piece_of(Launch launch);
  Operation piece_of(std::function<void(std::uint64_t seed)> kernel);
  void take(Stream stream, Operation piece);
  /// Loads a launch's kernel before it is given. No lock is held meanwhile, so that other ranks go on.
  void load_for(Device of, const Launch& launch, const WorkKey& key);

  // Controls and counts that Use documents.
  Use::Counts counts() const;
  void attach_profiler() { is_listened_to_ = true; }
  const Use::Ranges& ranges() const { return ranges_; }
  void break_at(std::int64_t kernel, Use::Fault fault);
  void load(Use::Loading loading) { loading_ = loading; }
  std::int64_t loaded() const { return std::ssize(loaded_); }
  void leave_open();
  void slow_down(double seconds) { more_s_ = seconds; }
  void skip_work() { skips_work_ = true; }
  void wait_in_allocations() { waits_in_allocations_ = true; }

 private:
  class TestEvent;
  using Lock = std::lock_guard<std::recursive_mutex>;
  /// The time at which work was over (monotonic); 0: it is not over.
  using OverAt = std::shared_ptr<double>;

  /// Opens the device's memory while the device works, on the thread that requested the work.
  struct Opened {
    explicit Opened(TestAccelerator& of) : device(of) { device.memory_.open(true); }
    ~Opened() { device.memory_.open(false); }
    Opened(const Opened&) = delete;
    TestAccelerator& device;
  };

  void throw_if_failed() const {
    if (failed_) throw Error(*failed_);
  }
  void linger() const;
  bool is_pinned(const std::byte* address) const;

  /// Waits until all work of that device's streams is done, other ranks' part in it included. Without a
  /// time limit it stops waiting after a while, and the next use of the device reports that.
  void synchronize_device(Device of);
  [[noreturn]] void fail_to_settle(Device of, const std::string& work);
  void flush_all(Device device);

  void launch(StreamState& stream, std::function<void()> kernel);
  /// Returns a function that launches a graph of the pieces that `enqueue` gives.
  GraphCache::Enqueue capture(Stream stream, const GraphCache::Enqueue& enqueue);
  void make_stream_wait(Stream stream, OverAt until_s);
  OverAt end_of(Stream stream);

  /// Returns false if none of the work that is left may begin.
  bool run_until(const std::function<bool()>& is_so);
  /// Does the first piece of work of some stream, and opens the memory for it. Returns false if no stream
  /// has any that may begin.
  bool run_any(std::optional<Opened>& opened);

  std::recursive_mutex mutex_;
  std::mt19937_64 random_;
  std::list<StreamState> streams_;
  ClosedMemory memory_;
  std::map<const std::byte*, std::size_t> pinned_;  // host memory
  std::vector<Operation>* captured_ = nullptr;      // pieces of the graph that is being made, if any
  Use::Counts counts_;                              // without bytes of memory
  Use::Ranges ranges_;
  bool is_listened_to_ = false;
  DeviceTimeout limit_;
  std::int64_t kernels_to_fault_ = 0;  // counts from 1; none if it is less
  Use::Fault fault_ = Use::Fault::error;
  double more_s_ = 0;
  bool skips_work_ = false;
  bool waits_in_allocations_ = false;
  Use::Loading loading_ = Use::Loading::beforehand;
  std::set<std::pair<int, std::string>> loaded_;  // device and kernel
  std::optional<Error> failed_;
};

}  // namespace dt::test_device
