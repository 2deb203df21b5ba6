#pragma once
// How ranks divide a sequence so that each has as much of the causal triangle to compute: of 2·cp chunks of
// equal length rank r has the r-th and the one as far from the end (zigzag order).

#include <cstdint>

namespace dt::model {

/// A rank's two chunks, of `length` positions each, the earlier first.
struct Zigzag {
  std::int64_t length = 0;
  int rank = 0;
  int size = 1;

  static constexpr int num_chunks = 2;
  /// The first position of one of its chunks.
  std::int64_t position(int chunk) const {
    return length * (chunk == 0 ? rank : std::int64_t{2} * size - 1 - rank);
  }
};

}  // namespace dt::model
