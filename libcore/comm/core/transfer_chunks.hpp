#pragma once
// Cuts an operation on a device into transfer chunks, which fit the host memory for messages. Reductions
// treat each element separately, so the bits are those of the whole operation.

#include <vector>

#include "base/numeric/range.hpp"
#include "comm/core/collective.hpp"
#include "comm/core/device_side.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm {

struct TransferChunk {
  std::int64_t numel = 0;
  std::vector<Range> parts{};  // each rank's range of the chunk's elements, if ranks have ranges
  std::vector<StagedRange> reads{}, writes{};
};

/// The tensors that an operation uses. `in` and `out` may be the same.
struct Sides {
  Tensor in, out;  // absent: unused
};

/// Cuts an operation for which all elements are alike. Returns at least one chunk, each of at most
/// `chunk_bytes`.
std::vector<TransferChunk> chunk_alike(const Sides& sides, std::size_t chunk_bytes);

/// The division of N elements among a group's ranks.
struct EvenSplit {
  int rank, size;
  std::int64_t numel, granule;
  Range of(int of_rank) const { return even_range(of_rank, size, numel, granule); }
  RangeOf parts() const {
    return [*this](int of_rank) { return of(of_rank); };
  }
};

/// Cuts an operation in which ranks have ranges. Each chunk has a stretch of every rank's range. A
/// tensor that has fewer than N elements holds this rank's range alone.
std::vector<TransferChunk> chunk_split(const Sides& sides, const EvenSplit& division,
                                       std::size_t chunk_bytes);

}  // namespace dt::comm
