#pragma once
// The zigzag order, which divides a sequence so that all ranks compute equal parts of the causal
// triangle. Of 2·cp chunks of equal length, rank r has chunk r and the chunk at the same distance
// from the end.

#include <cstdint>

namespace dt::model {

/// A rank's two chunks, of `length` positions each, the earlier first.
struct Zigzag {
  std::int64_t length = 0;
  int rank = 0;
  int size = 1;

  static constexpr int num_chunks = 2;
  /// Returns the first position of one of the rank's chunks.
  std::int64_t position(int chunk) const {
    return length * (chunk == 0 ? rank : std::int64_t{2} * size - 1 - rank);
  }
};

}  // namespace dt::model
