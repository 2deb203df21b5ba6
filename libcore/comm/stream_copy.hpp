#pragma once
// Copies memory, by where data lies and what becomes of it.

#include <cstddef>
#include <span>

namespace dt::comm {

/// The kind of stores. Streamed stores go past the caches, for data that is not read soon. What they
/// overwrite is not read into the caches first, which for large outputs is a third of what memory
/// moves. A streamed destination begins at a cache line.
enum class Stores { cached, streamed };

/// The place of what is copied: in memory; in the caches of a core that has written it; or there, and
/// this core is about to write it, too.
enum class Source { memory, other_core, handed_over };

/// Copies `from` to `to`, which have one size and lie apart from each other.
void copy(std::span<const std::byte> from, std::span<std::byte> to, Source source, Stores stores);

/// Copies `slot`, which is handed over, to `out`, and then `next`, which lies in memory, to `slot`: as
/// many bytes as these have. Memory has more under way with both at once than with one after the other.
void refill(std::span<std::byte> slot, std::span<std::byte> out, std::span<const std::byte> next,
            Stores stores);

}  // namespace dt::comm
