#pragma once
// A GPU's threads on the host: the blocks of a launch run one after another, a block's threads as fibers.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace dt::test_device {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

struct Launch {
  const char* kernel;
  Dim3 blocks;
  unsigned threads;  // per block
  std::size_t shared_bytes;
  std::function<void()> thread;  // body of each thread
  std::string of_library{};      // problem for which a library loads it; empty: dt's own kernel
};

/// Runs a launch. `seed` sets the order of blocks, and the order of a block's threads between the places
/// where they wait for each other. Code that relies on an order that a GPU does not promise is thus found.
/// Shared memory begins as NaN, and the page behind it is inaccessible.
/// Errors: exceptions of a thread; internal, naming the kernel: lanes wait for others that never come.
void run(const Launch& launch, std::uint64_t seed);

// Queries of the running thread.
Dim3 thread_index();
Dim3 block_index();
Dim3 block_size();
Dim3 grid_size();
std::byte* shared_memory();

/// Waits until all threads of the block that have not ended are here.
void sync_threads();
/// Waits until all lanes of `mask` are here, and returns the value that `lane` of the warp brought.
std::uint64_t exchange(std::uint32_t mask, std::uint64_t value, unsigned lane);
/// Returns this thread's lane in its warp.
unsigned own_lane();

}  // namespace dt::test_device
