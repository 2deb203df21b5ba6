#pragma once
// Copies past the caches.

#include <cstddef>
#include <span>

namespace dt::comm {

/// to = from, of one size, apart from each other. What is written is not read into the caches first, which a
/// copy smaller than they are does: of large outputs that is a third of what memory moves.
void stream_copy(std::span<std::byte> to, std::span<const std::byte> from);

}  // namespace dt::comm
