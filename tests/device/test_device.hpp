#pragma once
// A device for tests: what a GPU does, done by threads that are fibers, in memory that the host may not
// touch. Work waits in its streams until somebody waits for it; of several streams any may be next, as a seed
// says. So a missing wait, a buffer that is given back too early and a look at the device's memory show on a
// machine without a GPU. Ranks that are threads share it: while one waits, the others might touch its memory.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "device/fiber_block.hpp"
#include "tensor/context.hpp"

namespace dt::test_device {

/// Makes it the program's accelerator and its kernels those of GPUs, for as long as this lives.
class Use {
 public:
  explicit Use(std::uint64_t seed);
  ~Use();
  Use(const Use&) = delete;

  /// What the host asked for so far.
  struct Counts {
    std::int64_t allocations = 0;  // of the device's memory
    std::int64_t frees = 0;        // of these
    std::int64_t pinnings = 0;     // of the host's memory
    std::int64_t unpinnings = 0;   // of that
    std::int64_t in_lists = 0;     // allocations and pinnings while RetiredMemory keeps what is given back
    std::int64_t reads = 0;        // copies from there to the host
    std::int64_t unpinned = 0;     // copies from or to memory of the host that is not pinned
    std::int64_t kernels = 0;      // and products
    std::int64_t moves = 0;        // copies of memory, and what sets it to zero
    std::int64_t graphs = 0;       // that were made, of kernels and moves
    std::int64_t launches = 0;     // of these
    std::int64_t in_graphs = 0;    // kernels and moves of these launches
    std::int64_t bytes = 0;        // of its memory now
    std::int64_t most_bytes = 0;   // of its memory at a time
    /// Returns how often something was asked for that may wait for all that a device was given.
    std::int64_t memory_calls() const { return allocations + frees + pinnings + unpinnings; }
  };
  Counts counts() const;
  /// How deep ranges have lain in each other at most, and their names, in the order of their beginnings. From
  /// listen() on somebody wants to know.
  struct Ranges {
    int depth = 0, most_depth = 0;
    std::vector<std::string> names{};
  };
  void listen();
  const Ranges& ranges() const;

  /// The `kernel`-th kernel from now on (from 1) fails, and with it all that the device is given or asked
  /// then; or never ends.
  enum class Fault { error, hang };
  void break_at(std::int64_t kernel, Fault fault);

  /// When what kernels are made of is loaded, which waits for all that the device was given (CUDA's lazy
  /// loading): all of it beforehand; libraries' with the first launch of each problem; or dt's own as well,
  /// with the first launch of each kernel.
  enum class Loading { beforehand, of_libraries, of_all };
  void load(Loading loading);
  /// How often something was loaded so.
  std::int64_t loaded() const;

  /// Makes allocations of the device's memory wait for all that it was given, as freeing always does.
  void wait_in_allocations();

  /// From now on the host may touch the device's memory: ranks that ask again and again are held up by
  /// opening it and closing it.
  void leave_open();

  /// From now on each kernel and each copy takes so much longer.
  void slow_down(double seconds);

  /// From now on kernels and moves are taken and never done, so that no memory is touched: what a large model
  /// asks of a device can be seen.
  void skip_work();

  /// How often a program has used it.
  static int times();
};

/// Puts it at the end of the context's stream: a kernel, which may be kept back (Accelerator::give), or
/// anything else.
void give(const Context& context, const WorkKey& key, Launch launch);
void enqueue(const Context& context, Launch launch);
/// A kernel that runs elsewhere, in an order that a seed says, when something of it is given
/// (Accelerator::give).
void take(Stream stream, std::function<void(std::uint64_t seed)> kernel);
/// The same of what others have a part in: it is done when it says so, asked while the device works.
void enqueue(Stream stream, std::function<bool()> is_over);

}  // namespace dt::test_device
