#include "comm/stream_copy.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace dt::comm {

#if defined(__SSE2__)
void stream_copy(std::span<std::byte> to, std::span<const std::byte> from) {
  constexpr std::size_t line = 64;
  const std::size_t unaligned = (line - reinterpret_cast<std::uintptr_t>(to.data()) % line) % line;
  const std::size_t head = std::min(unaligned, to.size());
  if (head > 0) std::memcpy(to.data(), from.data(), head);
  std::size_t at = head;
  for (; at + line <= to.size(); at += line) {
    for (std::size_t i = 0; i < line; i += sizeof(__m128i)) {
      const __m128i value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from.data() + at + i));
      _mm_stream_si128(reinterpret_cast<__m128i*>(to.data() + at + i), value);
    }
  }
  _mm_sfence();  // before anyone is told
  if (at < to.size()) std::memcpy(to.data() + at, from.data() + at, to.size() - at);
}
#else
void stream_copy(std::span<std::byte> to, std::span<const std::byte> from) {
  if (!to.empty()) std::memcpy(to.data(), from.data(), to.size());
}
#endif

}  // namespace dt::comm
