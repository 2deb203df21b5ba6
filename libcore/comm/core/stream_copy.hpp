#pragma once
// Copies memory, in ways that depend on where the data lie and how they are used next.

#include <cstddef>
#include <span>

namespace dt::comm {

/// The kind of stores. Streamed stores bypass the caches, for data that are not read soon. The
/// lines that they overwrite are not read into the caches first. For large outputs, such reads are
/// a third of the memory traffic. A streamed destination begins at a cache line.
enum class StoreKind { cached, streamed };

/// The place of the copied data: in memory; in the caches of a core that has written them; or
/// there, while this core is about to overwrite them.
enum class Source { memory, other_core, handed_over };

/// Copies `from` to `to`, which have one size and lie apart from each other.
void copy(std::span<const std::byte> from, std::span<std::byte> to, Source source, StoreKind stores);

/// Copies `slot`, which is handed over, to `out`, and `next`, which lies in memory, to `slot`. The
/// sizes of `out` and `next` say how many bytes. Doing both at once keeps more memory accesses
/// under way than one after the other.
void refill(std::span<std::byte> slot, std::span<std::byte> out, std::span<const std::byte> next,
            StoreKind stores);

}  // namespace dt::comm
