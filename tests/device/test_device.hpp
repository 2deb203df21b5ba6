#pragma once
// A device for tests. Fibers do a GPU's work, in memory that the host may not touch. Work stays in its
// streams until a wait. If several streams have work, a seed says which goes next. So a missing wait, a
// buffer that is freed too early and a look at the device's memory show on a machine without a GPU. Ranks
// that are threads share the device. While one waits, the others might touch its memory.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "device/fiber_block.hpp"
#include "tensor/context.hpp"

namespace dt::test_device {

/// Makes the test device the program's accelerator, and its kernels those of GPUs, while this object lives.
class Use {
 public:
  explicit Use(std::uint64_t seed);
  ~Use();
  Use(const Use&) = delete;

  /// Counts of the host's requests so far.
  struct Counts {
    std::int64_t allocations = 0;  // device memory
    std::int64_t frees = 0;        // allocations that were freed
    std::int64_t pinnings = 0;     // host memory
    std::int64_t unpinnings = 0;   // pinnings that were undone
    std::int64_t in_lists = 0;     // allocations and pinnings while DeferredFree keeps freed memory
    std::int64_t reads = 0;        // copies from the device to the host
    std::int64_t unpinned = 0;     // copies from or to host memory that is not pinned
    std::int64_t kernels = 0;      // kernels and products
    std::int64_t moves = 0;        // copies of memory, and zeroing of memory
    std::int64_t graphs = 0;       // graphs made, of kernels and moves
    std::int64_t launches = 0;     // launches of these graphs
    std::int64_t in_graphs = 0;    // kernels and moves of these launches
    std::int64_t bytes = 0;        // device memory now
    std::int64_t most_bytes = 0;   // device memory at its peak
    /// Returns how many of the requests may wait for all work that a device was given.
    std::int64_t memory_calls() const { return allocations + frees + pinnings + unpinnings; }
  };
  Counts counts() const;
  /// The greatest depth of nested ranges, and the ranges' names in the order in which they begin. Recorded
  /// from listen() on.
  struct Ranges {
    int depth = 0, most_depth = 0;
    std::vector<std::string> names{};
  };
  void attach_profiler();
  const Ranges& ranges() const;

  /// Makes the `kernel`-th kernel from now on (from 1) fail, and with it all that the device is given or
  /// asked afterwards. Or makes the kernel never end.
  enum class Fault { error, hang };
  void break_at(std::int64_t kernel, Fault fault);

  /// When kernels' code is loaded; loading waits for all work that the device was given (CUDA's lazy
  /// loading). All code is loaded beforehand; or libraries' code with the first launch of each problem; or
  /// dt's own as well, with the first launch of each kernel.
  enum class Loading { beforehand, of_libraries, of_all };
  void load(Loading loading);
  /// Returns how often a first launch loaded code.
  std::int64_t loaded() const;

  /// Makes allocations of device memory wait for all work that it was given, as freeing always does.
  void wait_in_allocations();

  /// Lets the host touch the device's memory from now on. Opening and closing it would slow down ranks that
  /// poll.
  void leave_open();

  /// Makes each kernel and each copy take `seconds` longer from now on.
  void slow_down(double seconds);

  /// Accepts kernels and moves from now on without doing them, so that no memory is touched. Tests use it
  /// to see what a large model asks of a device.
  void skip_work();

  /// Returns how often a program has used the device.
  static int times();
};

/// Appends a launch to the context's stream: submit() a kernel, which may be deferred (Accelerator::submit),
/// enqueue() anything else.
void submit(const Context& context, const WorkKey& key, Launch launch);
void enqueue(const Context& context, Launch launch);
/// Takes a kernel that runs elsewhere, in an order that a seed sets. The function that is passed to
/// Accelerator::give calls it.
void run_on_stream(Stream stream, std::function<void(std::uint64_t seed)> kernel);
/// Enqueues work in which others have a part. It is done when `is_over` says so, which the device polls
/// while it works.
void enqueue(Stream stream, std::function<bool()> is_over);

}  // namespace dt::test_device
