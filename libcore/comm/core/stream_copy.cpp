#include "comm/core/stream_copy.hpp"

#include <algorithm>

#include <hwy/cache_control.h>

#define HWY_TARGET_INCLUDE "comm/core/stream_copy.cpp"
#include "comm/core/cacheline_copy.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::comm::HWY_NAMESPACE {

namespace {

template <bool streamed>
HWY_INLINE void copy_into(const std::byte* from, std::byte* to, std::size_t bytes, Source source) {
  const auto copy = [&](const auto& ahead) HWY_ATTR { copy_lines<streamed>(from, to, bytes, ahead); };
  const auto bring_out = [&](std::size_t at) HWY_ATTR {
    if constexpr (!streamed) load_line(to + at + near_ahead);
  };
  switch (source) {
    case Source::memory:
      return copy([&](std::size_t at) HWY_ATTR { prefetch_line(from + at + far_ahead); });
    case Source::other_core:
      return copy([&](std::size_t at) HWY_ATTR {
        prefetch_line(from + at + near_ahead);
        bring_out(at);
      });
    case Source::handed_over:
      return copy([&](std::size_t at) HWY_ATTR {
        load_line(from + at + near_ahead);
        bring_out(at);
      });
  }
}

/// Goes line by line: streamed stores and reads of memory wait for different things, so they
/// overlap.
HWY_INLINE void stream_and_refill(std::byte* slot, std::byte* out, const std::byte* next, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += line) {
    load_line(slot + at + near_ahead);
    prefetch_line(next + at + far_ahead);
    copy_line<true>(slot + at, out + at);
    copy_line<false>(next + at, slot + at);
  }
}

/// Goes block by block, which here is faster.
HWY_INLINE void store_and_refill(std::byte* slot, std::byte* out, const std::byte* next, std::size_t bytes) {
  for (std::size_t begin = 0; begin < bytes; begin += block_bytes) {
    const std::size_t count = std::min(block_bytes, bytes - begin);
    copy_lines<false>(slot + begin, out + begin, count, [&](std::size_t at) HWY_ATTR {
      load_line(slot + begin + at + near_ahead);
      prefetch_line(next + begin + at + far_ahead);
      load_line(out + begin + at + near_ahead);
    });
    copy_lines<false>(next + begin, slot + begin, count, [](std::size_t) {});
  }
}

}  // namespace

void copy_bytes(const std::byte* from, std::byte* to, std::size_t bytes, Source source, StoreKind stores) {
  if (stores == StoreKind::cached) return copy_into<false>(from, to, bytes, source);
  copy_into<true>(from, to, bytes, source);
  hwy::FlushStream();  // before any other rank is told
}

/// Refills whole lines.
void refill_lines(std::byte* slot, std::byte* out, const std::byte* next, std::size_t bytes,
                  StoreKind stores) {
  if (stores == StoreKind::cached) return store_and_refill(slot, out, next, bytes);
  stream_and_refill(slot, out, next, bytes);
  hwy::FlushStream();
}

}  // namespace dt::comm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::comm {

HWY_EXPORT(copy_bytes);
HWY_EXPORT(refill_lines);

void copy(std::span<const std::byte> from, std::span<std::byte> to, Source source, StoreKind stores) {
  HWY_DYNAMIC_DISPATCH(copy_bytes)(from.data(), to.data(), from.size(), source, stores);
}

void refill(std::span<std::byte> slot, std::span<std::byte> out, std::span<const std::byte> next,
            StoreKind stores) {
  constexpr std::size_t line = 64;
  const std::size_t both = std::min(out.size(), next.size()) / line * line;
  HWY_DYNAMIC_DISPATCH(refill_lines)(slot.data(), out.data(), next.data(), both, stores);
  copy(slot.subspan(both, out.size() - both), out.subspan(both), Source::handed_over, stores);
  copy(next.subspan(both), slot.subspan(both, next.size() - both), Source::memory, StoreKind::cached);
}

}  // namespace dt::comm
#endif
