#pragma once
// A GPU's threads on the host: the blocks of a launch one after another, a block's threads as fibers.

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
  unsigned threads;  // of a block
  std::size_t shared_bytes;
  std::function<void()> thread;  // what each does
  std::string of_library{};      // what a library loads for it; empty: it is dt's own kernel
};

/// Blocks run in an order that `seed` says, and so do a block's threads between the places where they wait
/// for each other: who relies on an order that a GPU does not promise is found out. Shared memory begins as
/// NaN and has a page behind it that nobody may touch. Errors: what a thread throws; internal, naming the
/// kernel: lanes that wait for others that never come.
void run(const Launch& launch, std::uint64_t seed);

// What a thread asks.
Dim3 thread_index();
Dim3 block_index();
Dim3 block_size();
Dim3 grid_size();
std::byte* shared_memory();

/// Waits until all threads of the block that have not ended are here.
void sync_threads();
/// Waits until all lanes of `mask` are here, and returns what `lane` of the warp brought.
std::uint64_t exchange(std::uint32_t mask, std::uint64_t value, unsigned lane);
/// Of this thread in its warp.
unsigned own_lane();

}  // namespace dt::test_device
