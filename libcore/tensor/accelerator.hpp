#pragma once
// Drives devices that are not the host: their memory, and the work that they do in the order in which
// they are given it, while the host goes on.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tensor/allocations.hpp"
#include "tensor/device.hpp"
#include "tensor/work_key.hpp"

namespace dt {

/// An order of work: what is enqueued on a stream begins when what was enqueued on it before has ended.
using Stream = struct StreamState*;

/// A point of a stream: the end of all that the stream had been given by then.
class Mark {
 public:
  virtual ~Mark() = default;
  /// Returns whether the device has reached the point. Never blocks; polling is enough for it to be
  /// reached.
  /// Errors: environment, work has failed, or the accelerator's time limit has passed since the mark
  /// was made.
  virtual bool is_reached() = 0;
  /// Makes what `stream` is given from now on begin after this point.
  virtual void hold_back(Stream stream) = 0;
};

/// A mark that knows, once it is reached, when it was.
class TimedMark : public Mark {
 public:
  /// Returns the seconds from the moment when `other` was reached to that of this mark. Both must be
  /// reached, and of one device.
  virtual double since_s(const TimedMark& other) = 0;
};

/// A GPU, as its driver describes it.
struct Gpu {
  std::string name;
  std::string id{};          // unlike that of any other GPU, or of another part of the same GPU
  std::string address{};     // on the host's bus; parts of a GPU have it in common
  int major = 0, minor = 0;  // compute capability
  std::size_t memory_bytes = 0;
  std::string software{};  // versions of CUDA and of the driver
  int ordinal = 0;         // the driver's number of it, among GPUs that this program may see
};

/// Drives the program's devices. A function that names a stream enqueues, and returns at once where it
/// can.
/// Errors: environment, naming the device and what it says.
/// Thread safety: any thread may call it.
class Accelerator {
 public:
  virtual ~Accelerator() = default;
  /// Returns the GPUs that this program can use, by index.
  /// Errors: NoGpu (tensor/usable_gpus.hpp), the program may see none; environment, why it can use none
  /// of those that are there, and what to do.
  virtual std::vector<Gpu> gpus() = 0;
  virtual std::size_t free_bytes(Device device) = 0;
  /// Makes libraries that this thread calls use the device.
  virtual void select(Device device) = 0;
  /// Sets how long work of a device may be waited for (0, as at first: for ever). A caller that waits
  /// longer, for the work or a mark, fails. After that no caller waits any more, and memory that the
  /// device may still touch is never given back.
  /// Errors, while waiting: environment, naming the device and the stream's work.
  virtual void set_time_limit(double seconds) = 0;

  /// Returns zeroed memory, aligned to 256 bytes, for work of any stream. May wait for all that any
  /// stream of the device was given.
  /// Errors: those of the class; also environment, memory is short, naming the size.
  virtual std::byte* allocate(Device device, std::size_t bytes) = 0;
  /// Frees memory. Waits until all that any stream of the device was given is done, as it may use the
  /// memory.
  virtual void release(Device device, std::byte* memory) = 0;
  /// Returns the memory that was allocated and not released.
  Allocations& allocations() { return allocations_; }
  /// Returns memory of the host, zeroed, for copies from and to devices that go on beside all else.
  /// Errors: as for allocate().
  virtual std::byte* allocate_pinned(std::size_t bytes) = 0;
  virtual void release_pinned(std::byte* memory) = 0;
  /// Pins mapped memory of the host, which begins a page, until it is unpinned. Copies from and to it
  /// go on beside all else.
  /// Errors: as for allocate().
  virtual void pin(std::byte* memory, std::size_t bytes) = 0;
  virtual void unpin(std::byte* memory) = 0;

  /// Opens a stream. `work` names its work in messages: "computing".
  virtual Stream open_stream(Device device, const std::string& work) = 0;
  /// Closes a stream once all that it was given is done.
  virtual void close(Stream stream) = 0;
  /// Makes the stream keep work back from now on: what is given, copied within the device, or zeroed.
  /// The work may wait until the stream is used otherwise, marked, or waited for; see RepeatingWork.
  virtual void keep_back(Stream stream) = 0;
  /// Gives the stream what it keeps back. Call before the host waits for anything else.
  virtual void give_kept(Stream stream) = 0;
  /// Makes graphs of the work that comes again and again. Call when nothing is under way that waits for
  /// what this program has yet to do (messages).
  virtual void make_graphs(Stream stream) = 0;
  /// Gives the stream work of the device, by a call of `enqueue` now or later, on the thread that uses
  /// the stream then. The work depends on nothing that `key` does not hold: what an earlier piece with
  /// the same key gave may be given in its place.
  virtual void give(Stream stream, const WorkKey& key, std::function<void()> enqueue) = 0;
  /// Copies between the host and a device, or within a device. Memory of the host must stay as it is
  /// until the copy is done.
  virtual void copy(Stream stream, std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  virtual void zero(Stream stream, std::byte* memory, std::size_t bytes) = 0;
  virtual std::unique_ptr<Mark> mark(Stream stream) = 0;
  virtual std::unique_ptr<TimedMark> timed_mark(Stream stream) = 0;
  /// Makes what `stream` is given from now on begin after what `other` was given until now.
  virtual void follow(Stream stream, Stream other) = 0;
  /// Blocks until all that the stream was given is done.
  virtual void wait(Stream stream) = 0;

  /// Returns whether a profiler is attached, which draws what the host does beside what the device
  /// does.
  virtual bool has_audience() = 0;
  /// Names what this thread does until the matching end_range(). Ranges may lie in each other.
  virtual void begin_range(const std::string& name) = 0;
  virtual void end_range() = 0;

 protected:
  Allocations allocations_;
};

/// Returns the accelerator of the program's devices.
/// Errors: environment, there is none.
Accelerator& accelerator();
bool has_accelerator();
/// Sets the program's accelerator; null: there is none any more. Call once, before any of its devices
/// is named.
void set_accelerator(Accelerator* accelerator);

/// Pins memory of the host for as long as this lives.
class PinnedMemory {
 public:
  PinnedMemory(std::byte* memory, std::size_t bytes) : memory_(memory) { accelerator().pin(memory, bytes); }
  PinnedMemory(const PinnedMemory&) = delete;
  ~PinnedMemory() { accelerator().unpin(memory_); }

 private:
  std::byte* memory_;
};

/// A stream that this object opens and closes.
class OwnStream {
 public:
  explicit OwnStream(Device device, const std::string& work = "work")
      : stream_(accelerator().open_stream(device, work)) {}
  OwnStream(const OwnStream&) = delete;
  ~OwnStream() { accelerator().close(stream_); }
  operator Stream() const { return stream_; }

 private:
  Stream stream_;
};

}  // namespace dt
