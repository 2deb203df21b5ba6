#pragma once
// Divides the elements of an operation among ranks, into segments and into transfer chunks.

#include <algorithm>
#include <functional>
#include <vector>

#include "base/numeric/range.hpp"
#include "comm/core/device_side.hpp"
#include "comm/core/operation.hpp"
#include "tensor/reduction.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm {

inline constexpr std::size_t line_bytes = 64;

/// A function that returns a rank's range of N elements.
using RangeOf = std::function<Range(int rank)>;

inline std::int64_t elements_of(std::size_t bytes, const Tensor& tensor) {
  return static_cast<std::int64_t>(bytes / dtype_bytes(tensor.dtype()));
}

inline Range intersect(const Range& range, std::int64_t begin, std::int64_t end) {
  const std::int64_t first = std::clamp(begin, range.begin, range.begin + range.count);
  const std::int64_t last = std::clamp(end, first, range.begin + range.count);
  return {first, last - first};
}

inline Range shift(const Range& range, std::int64_t by) {
  return {range.begin + by, range.count};
}

/// Returns at most `count` elements of a range, from index `begin` of the range on.
inline Range piece_of(const Range& range, std::int64_t begin, std::int64_t count) {
  return intersect(range, range.begin + begin, range.begin + begin + count);
}

inline Tensor flat_view(const Tensor& tensor, const Range& range) {
  return tensor.flat(range.begin, range.count);
}

inline void add_transfer(Round& round, int peer, const Tensor& data, bool is_send) {
  if (data.numel() > 0) round.transfers.push_back({peer, data.span_bytes(), is_send});
}

/// An all_reduce, reduce_scatter or all_gather of N elements. One tensor (`in` of all_gather, `out`
/// of reduce_scatter) holds this rank's range alone; the others hold all N elements.
struct Collective {
  OperationKind kind;
  Tensor in;
  Tensor out;
  Reduction reduction = Reduction::sum;
  RangeOf part;  // a rank's range of the N elements
  /// Returns the ranks' ranges of a segment. The segments together hold the N elements. A
  /// reduce_scatter or all_gather divides each rank's range into pieces, one for each segment.
  std::function<RangeOf(std::size_t number)> segment;
  std::size_t num_segments = 1;

  bool reduces() const { return kind != OperationKind::all_gather; }
  bool gathers() const { return kind != OperationKind::reduce_scatter; }
  std::int64_t numel() const { return (reduces() ? in : out).numel(); }
  /// Return the elements `own`, which lie in this rank's range, of `in` or of `out`. Either tensor
  /// may hold that range alone.
  Tensor local_in(const Range& own, int rank) const {
    return flat_view(in, reduces() ? own : shift(own, -part(rank).begin));
  }
  Tensor local_out(const Range& own, int rank) const {
    return flat_view(out, gathers() ? own : shift(own, -part(rank).begin));
  }
};

/// A part of an operation on a device that fits the host memory for messages. Reductions treat each
/// element separately, so the bits are those of the whole operation.
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
