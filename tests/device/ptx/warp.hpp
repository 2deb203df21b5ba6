#pragma once
// The executor of a kernel: the warps of a block, and the memory that they see.

#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "device/ptx/program.hpp"
#include "device/ptx/shadow.hpp"

namespace dt::ptx {

/// Returns the allocation that holds an address of global memory; empty if none does.
using FindMemory = std::function<std::span<std::byte>(const std::byte*)>;

// Generic addresses of shared and local memory lie beyond all that a process may have.
inline constexpr std::uint64_t shared_window = std::uint64_t{1} << 60, local_window = std::uint64_t{2} << 60,
                               window_bytes = std::uint64_t{1} << 32;

/// State that the threads of a launch share.
struct Launch {
  const Kernel& kernel;
  std::vector<std::byte> parameters;
  FindMemory find_memory;
  Shadow shadow{};
  std::vector<std::span<std::byte>> near{};  // allocations of each instruction's last access of global memory
};

struct Block {
  Launch& launch;
  std::uint64_t number = 0;         // Moment::block
  std::array<unsigned, 3> index{};  // in the grid
  std::vector<std::byte> shared;
  std::uint64_t epoch = 0;
};

/// Some of the warp's lanes, their position, and the position at which the path ends.
struct Path {
  std::uint32_t at, end, lanes;
};

struct Warp {
  Block& block;
  unsigned index;  // in the block
  std::vector<std::uint64_t> rows;
  std::vector<std::uint32_t> predicates;
  std::vector<std::byte> local;  // all lanes' local memory, one after the other
  std::vector<Path> paths{};     // the last is under way
  std::uint32_t live = 0;        // lanes that have not ended
  std::uint32_t active = 0;      // lanes that execute the instruction
  std::uint64_t epoch = 0;
  bool is_at_barrier = false;
  std::int32_t barrier = 0;

  std::uint64_t* row(std::int32_t index) {
    return rows.data() + std::size_t{warp_size} * static_cast<std::size_t>(index);
  }
  std::uint32_t& predicate(std::int32_t index) { return predicates[static_cast<std::size_t>(index)]; }

  /// Runs until the warp ends or stands at a barrier.
  void run();
  /// Throws the error of an instruction's lane, naming kernel, block, thread and instruction.
  [[noreturn]] void fail(const Instruction& instruction, unsigned lane, const std::string& what) const;
  Moment now() const { return {block.number, block.epoch, epoch, index}; }
};

template <class T>
T value_of(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T>
std::uint64_t bits_of(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

/// Calls body(lane) for the active lanes.
template <class Body>
void for_lanes(const Warp& warp, const Body& body) {
  if (warp.active == all_lanes) {
    for (unsigned lane = 0; lane < warp_size; ++lane) body(lane);
  } else {
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      if ((warp.active >> lane & 1U) != 0) body(lane);
    }
  }
}

}  // namespace dt::ptx
