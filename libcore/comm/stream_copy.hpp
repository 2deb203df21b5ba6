#pragma once
// Copies by where data lies and what becomes of it.

#include <cstddef>
#include <span>

namespace dt::comm {

/// Streamed: past the caches, of what is not read soon. What is written is not read into them first then,
/// which of large outputs is a third of what memory moves. It begins at a cache line.
enum class Stores { cached, streamed };

/// What is copied lies in memory, in the caches of a core that has written it, or there, and this core is
/// about to write it, too.
enum class Source { memory, other_core, handed_over };

/// to = from, of one size, apart from each other.
void copy(std::span<const std::byte> from, std::span<std::byte> to, Source source, Stores stores);

/// out = slot, which is handed over, and then slot = next, which lies in memory: as many bytes as these have.
/// Of both at once memory has more under way than of one after the other.
void refill(std::span<std::byte> slot, std::span<std::byte> out, std::span<const std::byte> next,
            Stores stores);

}  // namespace dt::comm
