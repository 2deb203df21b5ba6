#pragma once
// What drives devices that are not the host: their memory, and work that they do in the order in which they
// are given it, while the host goes on.

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

/// A point of a stream: the end of all that it had been given by then.
class Mark {
 public:
  virtual ~Mark() = default;
  /// Never blocks; who asks again and again will hear that it is. Errors: environment, of work that has
  /// failed, and where the accelerator's time limit has passed since the mark was made.
  virtual bool is_reached() = 0;
  /// What `stream` is given from now on begins after this point.
  virtual void hold_back(Stream stream) = 0;
};

/// One that knows, once it is reached, when it was.
class TimedMark : public Mark {
 public:
  /// Seconds from then on that `other` was reached until this one was. Both are reached, and of one device.
  virtual double since_s(const TimedMark& other) = 0;
};

/// A GPU, as its driver tells.
struct Gpu {
  std::string name;
  std::string id{};          // no other GPU's, nor another part's of the same one
  std::string address{};     // on the host's bus, which parts of a GPU have in common
  int major = 0, minor = 0;  // of the compute capability
  std::size_t memory_bytes = 0;
  std::string software{};  // versions of what drives it
  int ordinal = 0;         // its driver's number of it, among those that this program may see
};

/// What names a stream is enqueued, and returns at once where it can. Any thread may call. Errors:
/// environment, naming the device and what it says.
class Accelerator {
 public:
  virtual ~Accelerator() = default;
  /// Those that this program can use, by index. Errors: NoGpu (tensor/usable_gpus.hpp), where it may see
  /// none; environment, why it can use none of those that are there, and what to do.
  virtual std::vector<Gpu> gpus() = 0;
  virtual std::size_t free_bytes(Device device) = 0;
  /// Makes it the one that libraries go to which this thread calls.
  virtual void select(Device device) = 0;
  /// For how long work of a device may be waited for (0, as at first: for ever). Whoever waits longer, for it
  /// or a mark, fails: environment, naming the device and the stream's work. Then nobody waits any more, and
  /// memory that the device may still touch is never given back.
  virtual void set_time_limit(double seconds) = 0;

  /// Zeroed and aligned to 256 bytes, for work of any stream. Allocating may wait for all that any
  /// stream of the device was given. Errors: also of memory that is short, naming
  /// the size.
  virtual std::byte* allocate(Device device, std::size_t bytes) = 0;
  /// Waits until all is done that any stream of the device was given: it may use the memory.
  virtual void release(Device device, std::byte* memory) = 0;
  /// Of what it has allocated and not released.
  Allocations& allocations() { return allocations_; }
  /// Of the host, zeroed, for copies from and to devices that go on beside all else. Errors: as of allocate.
  virtual std::byte* allocate_pinned(std::size_t bytes) = 0;
  virtual void release_pinned(std::byte* memory) = 0;
  /// Makes mapped memory of the host, which begins a page, what copies go on beside all else from and to,
  /// until it is unpinned. Errors: as of allocate.
  virtual void pin(std::byte* memory, std::size_t bytes) = 0;
  virtual void unpin(std::byte* memory) = 0;

  /// `work` is what messages call that which it is given: "computing".
  virtual Stream open_stream(Device device, const std::string& work) = 0;
  /// Waits until all is done that it was given.
  virtual void close(Stream stream) = 0;
  /// From now on what is given or copied within the device, or zeroed, may wait until the stream is used
  /// otherwise or somebody marks it or waits for it: RepeatingWork.
  virtual void keep_back(Stream stream) = 0;
  /// Gives the stream what it keeps back: before the host waits for anything else.
  virtual void give_kept(Stream stream) = 0;
  /// When nothing is under way that waits for what this program has yet to do (messages): what comes again
  /// and again is made graphs of.
  virtual void make_graphs(Stream stream) = 0;
  /// Work of the device's that `enqueue` gives the stream, now or later, on the thread that uses the stream
  /// then. It depends on nothing that `key` does not hold: what an earlier piece with the same key gave may
  /// be given in its place.
  virtual void give(Stream stream, const WorkKey& key, std::function<void()> enqueue) = 0;
  /// Between the host and a device, or within one. Memory of the host stays as it is until it is done.
  virtual void copy(Stream stream, std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  virtual void zero(Stream stream, std::byte* memory, std::size_t bytes) = 0;
  virtual std::unique_ptr<Mark> mark(Stream stream) = 0;
  virtual std::unique_ptr<TimedMark> timed_mark(Stream stream) = 0;
  /// What `stream` is given from now on begins after what `other` was given until now.
  virtual void follow(Stream stream, Stream other) = 0;
  /// Until all that the stream was given is done.
  virtual void wait(Stream stream) = 0;

  /// Whether a tool listens that draws what the host does beside what the device does.
  virtual bool has_audience() = 0;
  /// What this thread does until the end that goes with it is called so there; ranges may lie in each other.
  virtual void begin_range(const std::string& name) = 0;
  virtual void end_range() = 0;

 protected:
  Allocations allocations_;
};

/// That of the program's devices. Errors: environment, where it has none.
Accelerator& accelerator();
bool has_accelerator();
/// Once, before any such device is named; nullptr: none any more.
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

/// A stream of one's own.
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
