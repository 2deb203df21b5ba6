// Moves cache lines in the vectors of every instruction set that dt is built for, by Highway's dynamic
// dispatch. A source that uses this header first defines HWY_TARGET_INCLUDE as its own path. The source
// is then compiled once per instruction set (no #pragma once here). Code behind HWY_ONCE in it is
// compiled once, and picks the best instruction set that the machine has.

#ifndef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "comm/core/cacheline_copy.hpp"
#endif
// The same targets as in kernels/cpu/simd/simd.hpp.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Read once per instruction set, however often it is included.
#if defined(DT_COMM_LINES_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef DT_COMM_LINES_TOGGLE
#undef DT_COMM_LINES_TOGGLE
#else
#define DT_COMM_LINES_TOGGLE
#endif

HWY_BEFORE_NAMESPACE();
namespace dt::comm::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t line = 64;
// Distances ahead of its use at which a line is prefetched: from memory, and from another core's
// cache. Both are measured. So is the size of a block, which is moved twice and stays in the
// first-level cache meanwhile.
constexpr std::size_t far_ahead = 4096;
constexpr std::size_t near_ahead = 1024;
constexpr std::size_t block_bytes = 1024;

/// Prefetches the line into the second-level cache. The address may lie outside of all buffers.
HWY_INLINE void prefetch_line(const std::byte* at) {
  __builtin_prefetch(at, 0, 2);
}
/// Prefetches the line for writing, and removes it from all other caches. For lines that another
/// core has written and this core will write.
HWY_INLINE void load_line(const std::byte* at) {
#if HWY_ARCH_X86_64
  asm volatile("prefetchw %0" : : "m"(*at));  // the builtin compiles to this on some instruction sets only
#else
  __builtin_prefetch(at, 1, 3);
#endif
}

/// Moves a line. If `streamed`, the stores bypass the caches; `to` must then begin at a cache line.
template <bool streamed>
HWY_INLINE void copy_line(const std::byte* from, std::byte* to) {
  constexpr hn::ScalableTag<std::uint8_t> bytes;
  const auto* in = reinterpret_cast<const std::uint8_t*>(from);
  auto* out = reinterpret_cast<std::uint8_t*>(to);
  for (std::size_t i = 0; i < line; i += hn::MaxLanes(bytes)) {
    if constexpr (streamed) {
      hn::Stream(hn::LoadU(bytes, in + i), bytes, out + i);
    } else {
      hn::StoreU(hn::LoadU(bytes, in + i), bytes, out + i);
    }
  }
}

/// Moves whole lines, then the remaining bytes. Calls `ahead` with the offset of each line that is
/// about to be moved.
template <bool streamed, class Ahead>
HWY_INLINE void copy_lines(const std::byte* from, std::byte* to, std::size_t bytes, const Ahead& ahead) {
  std::size_t at = 0;
  for (; at + line <= bytes; at += line) {
    ahead(at);
    copy_line<streamed>(from + at, to + at);
  }
  if (at < bytes) std::memcpy(to + at, from + at, bytes - at);
}

}  // namespace dt::comm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
