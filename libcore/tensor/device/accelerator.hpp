#pragma once
// Drives devices other than the host: their memory, and their streams of work, which run while the
// host goes on.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tensor/device/allocations.hpp"
#include "tensor/device/device.hpp"

namespace dt {

/// The values on which a piece of a device's work depends, as bytes. Pieces whose keys have the same
/// bytes are the same work.
class WorkKey {
 public:
  template <class... Values>
  explicit WorkKey(const Values&... values) {
    bytes_.reserve(typical_bytes);
    (add(values), ...);
  }
  /// Adds a value. Its padding bytes, if it has any, must be the same each time; otherwise repeated
  /// work counts as new.
  template <class Value>
  WorkKey& add(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  std::string_view bytes() const { return bytes_; }

 private:
  static constexpr std::size_t typical_bytes = 256;
  std::string bytes_;
};

/// A stream, as in CUDA: each piece of work begins when the work enqueued before it has ended.
using Stream = struct StreamState*;

/// An event, as in CUDA: the point of a stream after all work that was enqueued before the event was
/// made.
class Event {
 public:
  virtual ~Event() = default;
  /// Returns whether the device has reached the point. Never blocks; polling is enough for it to be
  /// reached.
  /// Errors: environment, work has failed, or the accelerator's time limit has passed since the event
  /// was made.
  virtual bool is_complete() = 0;
  /// Makes work that is enqueued on `stream` from now on wait for this point.
  virtual void make_stream_wait(Stream stream) = 0;
};

/// An event that records the time at which the device reaches it.
class TimedEvent : public Event {
 public:
  /// Returns the seconds between the device's reaching `other` and its reaching this event. Both
  /// must be events of one device, and reached.
  virtual double elapsed_since_s(const TimedEvent& other) = 0;
};

/// A GPU, as its driver describes it.
struct Gpu {
  std::string name;
  std::string id{};          // unique, also among the parts of one GPU (MIG)
  std::string address{};     // PCI address; the parts of a GPU share it
  int major = 0, minor = 0;  // compute capability
  std::size_t memory_bytes = 0;
  std::string software{};  // versions of CUDA and of the driver
  int ordinal = 0;         // the driver's number of the GPU, among those that this program may see
};

/// Drives the program's devices. Functions that take a stream enqueue work, and return at once if
/// they can.
/// Errors: environment, naming the device and its driver's message.
/// Thread safety: any thread may call it.
class Accelerator {
 public:
  virtual ~Accelerator() = default;
  /// Returns the GPUs that this program can use, by index.
  /// Errors: NoGpu (tensor/device/gpu_probe.hpp), the program may see no GPU; environment, with the
  /// reason and the remedy, the program can use none of the GPUs that it sees.
  virtual std::vector<Gpu> gpus() = 0;
  virtual std::size_t free_bytes(Device device) = 0;
  /// Makes libraries that this thread calls use the device.
  virtual void select(Device device) = 0;
  /// Limits how long callers wait for a device's work or events; 0, the default, is no limit. A
  /// caller that waits longer fails. After that, no wait for unfinished work goes on, and memory
  /// that the device may still touch is never freed.
  /// Errors, while waiting: environment, naming the device and the stream's work.
  virtual void set_timeout(double seconds) = 0;

  /// Returns zeroed memory, aligned to 256 bytes, which any stream may use. May block until all
  /// work on the device is done.
  /// Errors: those of the class; also environment, naming the size, memory is short.
  virtual std::byte* allocate(Device device, std::size_t bytes) = 0;
  /// Frees memory. First blocks until all work on the device's streams is done, as that work may
  /// use the memory.
  virtual void release(Device device, std::byte* memory) = 0;
  /// Returns the memory that was allocated and not released.
  Allocations& allocations() { return allocations_; }
  /// Returns zeroed, pinned host memory. Copies between it and devices overlap with other work.
  /// Errors: as for allocate().
  virtual std::byte* allocate_pinned(std::size_t bytes) = 0;
  virtual void release_pinned(std::byte* memory) = 0;
  /// Pins mapped host memory, which must begin at a page, until unpin(). Copies between it and
  /// devices overlap with other work.
  /// Errors: as for allocate().
  virtual void pin(std::byte* memory, std::size_t bytes) = 0;
  virtual void unpin(std::byte* memory) = 0;

  /// Opens a stream. `work` names its work in messages: "computing".
  virtual Stream open_stream(Device device, const std::string& work) = 0;
  /// Blocks until the stream's work is done, then closes the stream.
  virtual void close_stream(Stream stream) = 0;
  /// Makes the stream defer work from now on: work passed to submit(), copies within the device, and
  /// zeroing. Deferred work may wait until the stream is waited for, used otherwise, or gets an event; see
  /// GraphCache.
  virtual void defer(Stream stream) = 0;
  /// Enqueues the deferred work. Call before the host waits for anything else.
  virtual void flush(Stream stream) = 0;
  /// Instantiates graphs of repeated work. Call only while no work on the device waits for something that
  /// this program has yet to do (messages).
  virtual void instantiate_graphs(Stream stream) = 0;
  /// Enqueues work by a call of `enqueue`, now or later, on the thread that then uses the stream.
  /// The work depends on nothing but the values in `key`. The stream may therefore repeat an
  /// earlier piece with the same key instead.
  virtual void submit(Stream stream, const WorkKey& key, std::function<void()> enqueue) = 0;
  /// Copies between the host and a device, or within a device. Host memory must stay valid and
  /// unchanged until the copy is done.
  virtual void copy(Stream stream, std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  virtual void zero(Stream stream, std::byte* memory, std::size_t bytes) = 0;
  virtual std::unique_ptr<Event> record_event(Stream stream) = 0;
  virtual std::unique_ptr<TimedEvent> record_timed_event(Stream stream) = 0;
  /// Makes work that is enqueued on `stream` from now on wait for the work that was enqueued on
  /// `other` until now.
  virtual void wait_stream(Stream stream, Stream other) = 0;
  /// Blocks until all work enqueued on the stream is done.
  virtual void synchronize(Stream stream) = 0;

  /// Returns whether a profiler is attached that shows host activity beside device activity.
  virtual bool profiler_attached() = 0;
  /// Names, for profilers, this thread's activity until the matching end_range(). Ranges may nest.
  virtual void begin_range(const std::string& name) = 0;
  virtual void end_range() = 0;

 protected:
  Allocations allocations_;
};

/// Returns the accelerator of the program's devices.
/// Errors: environment, there is none.
Accelerator& accelerator();
bool has_accelerator();
/// Sets the program's accelerator; null removes it. Call once, before any of its devices is named.
void set_accelerator(Accelerator* accelerator);

/// Pins host memory for the object's lifetime.
class PinnedMemory {
 public:
  PinnedMemory(std::byte* memory, std::size_t bytes) : memory_(memory) { accelerator().pin(memory, bytes); }
  PinnedMemory(const PinnedMemory&) = delete;
  ~PinnedMemory() { accelerator().unpin(memory_); }

 private:
  std::byte* memory_;
};

/// A stream that this object opens and closes.
class ScopedStream {
 public:
  explicit ScopedStream(Device device, const std::string& work = "work")
      : stream_(accelerator().open_stream(device, work)) {}
  ScopedStream(const ScopedStream&) = delete;
  ~ScopedStream() { accelerator().close_stream(stream_); }
  operator Stream() const { return stream_; }

 private:
  Stream stream_;
};

}  // namespace dt
