#pragma once
// Divides the elements of an operation among ranks, into segments and into transfer chunks.

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
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

inline std::int64_t elements_of(std::size_t bytes, DType dtype) {
  return static_cast<std::int64_t>(bytes / dtype_bytes(dtype));
}
inline std::int64_t elements_of(std::size_t bytes, const Tensor& tensor) {
  return elements_of(bytes, tensor.dtype());
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

/// A call of a collective by one rank. Only the first members are the caller's.
struct Collective {
  OperationKind kind = OperationKind::barrier;
  /// Absent where the rank gives or gets nothing (see OperationTraits::gives, gets). If the extent is a
  /// part, the tensor holds this rank's range of the N elements alone, and may be that range of the
  /// other tensor.
  Tensor in{}, out{};
  Reduction reduction = Reduction::sum;
  int root = 0;
  std::int64_t granule = 1;  // see even_range
  /// Extents of parts: the elements that go to each rank, and those that come from it, in the order of
  /// ranks. Empty: equal numbers. Only complete() reads them.
  std::span<const std::int64_t> in_counts{}, out_counts{};

  // complete() sets the members below.
  DType dtype = DType::u8;
  std::int64_t numel = 0;  // N; for extents of parts, the elements of `in`
  RangeOf part{};          // a rank's range of the N elements; for extents of parts, of `in`
  RangeOf arriving{};      // for extents of parts, the range of `out` that comes from a rank
  /// Extents of parts: the ranges that `part` and `arriving` return, which do not own them.
  std::shared_ptr<const std::vector<Range>> ranges{};
  /// The call is one of the chunks of an operation with extents of parts. Ranks have different numbers
  /// of chunks, so all have one tag, and each must be a sequence of one round.
  bool shares_tag = false;

  std::size_t bytes() const { return static_cast<std::size_t>(numel) * dtype_bytes(dtype); }
  bool reduces() const { return traits(kind).reduces; }
  /// Returns whether all ranks get all N elements.
  bool gathers() const { return traits(kind).out == Extent::whole && !traits(kind).to_root; }
  /// Return the elements `own`, which lie in this rank's range, of `in` or of `out`.
  Tensor local_in(const Range& own, int rank) const { return local(in, traits(kind).in, own, rank); }
  Tensor local_out(const Range& own, int rank) const { return local(out, traits(kind).out, own, rank); }

 private:
  Tensor local(const Tensor& side, Extent extent, const Range& own, int rank) const {
    return flat_view(side, extent == Extent::part ? shift(own, -part(rank).begin) : own);
  }
};

/// Returns the call with all members set, and without tensors that its kind does not use on this rank.
/// Errors: internal, a tensor does not have the elements that are due, or cannot be reduced.
Collective complete(Collective call, int rank, int size);

/// A part of an operation on a device that fits the host memory for messages. Reductions treat each
/// element separately, so the bits are those of the whole operation.
struct TransferChunk {
  std::int64_t numel = 0;
  std::vector<Range> parts{};     // each rank's range of the chunk's elements, if ranks have ranges
  std::vector<Range> arriving{};  // for extents of parts, the ranges that come from each rank
  std::vector<StagedRange> reads{}, writes{};
};

/// Cuts an operation for which all elements are alike. Returns at least one chunk, each of at most
/// `chunk_bytes`.
std::vector<TransferChunk> chunk_alike(const Collective& call, int rank, int size, std::size_t chunk_bytes);

/// Cuts an operation in which ranks have ranges. Each chunk has a sub-range of every rank's range.
std::vector<TransferChunk> chunk_parts(const Collective& call, int rank, int size, std::size_t chunk_bytes);

/// Cuts an operation in which each rank gives each rank a part. Each chunk has a sub-range of each part
/// that this rank gives, and of every part that it gets.
std::vector<TransferChunk> chunk_exchanges(const Collective& call, int rank, int size,
                                           std::size_t chunk_bytes);

/// Returns a chunk's call. `staged` has the chunk's elements.
Collective call_of_chunk(const Collective& whole, const TransferChunk& chunk, const Tensor& staged, int rank);

}  // namespace dt::comm
