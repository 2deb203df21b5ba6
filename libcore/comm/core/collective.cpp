#include "comm/core/collective.hpp"

#include <algorithm>

namespace dt::comm {

namespace {

std::int64_t elements_per_chunk(const Tensor& tensor, std::size_t chunk_bytes) {
  return std::max<std::int64_t>(1, elements_of(chunk_bytes, tensor));
}

/// Adds a span, or extends the last one if it adjoins that on both sides.
void add_span(std::vector<StagedRange>& spans, const Tensor& whole, const Range& range, std::int64_t begin) {
  const Tensor there = flat_view(whole, range);
  if (!spans.empty()) {
    StagedRange& last = spans.back();
    const std::int64_t numel = last.there.numel() + range.count;
    if (last.there.raw() + last.there.bytes() == there.raw() && last.begin + last.there.numel() == begin) {
      last.there = whole.flat(range.begin + range.count - numel, numel);
      return;
    }
  }
  spans.push_back({there, begin});
}

class Cutter {
 public:
  Cutter(const Sides& sides, const EvenSplit& division, std::size_t chunk_bytes)
      : sides_(sides), d_(division) {
    const std::int64_t line = elements_of(line_bytes, sides.in);
    stretch_ = std::max(elements_per_chunk(sides.in, chunk_bytes) / d_.size / line * line, line);
    for (int rank = 0; rank < d_.size; ++rank) longest_ = std::max(longest_, d_.of(rank).count);
  }

  std::vector<TransferChunk> cut_all() const {
    std::vector<TransferChunk> chunks;
    for (std::int64_t begin = 0; begin == 0 || begin < longest_; begin += stretch_)
      chunks.push_back(chunk(begin));
    return chunks;
  }

 private:
  TransferChunk chunk(std::int64_t begin) const {
    TransferChunk chunk;
    for (int rank = 0; rank < d_.size; ++rank) {
      const Range stretch = piece_of(d_.of(rank), begin, stretch_);
      chunk.parts.push_back({chunk.numel, stretch.count});
      add(chunk.reads, sides_.in, rank, stretch, chunk.numel);
      add(chunk.writes, sides_.out, rank, stretch, chunk.numel);
      chunk.numel += stretch.count;
    }
    return chunk;
  }

  void add(std::vector<StagedRange>& spans, const Tensor& side, int rank, const Range& stretch,
           std::int64_t begin) const {
    const bool is_whole = side.numel() == d_.numel;
    if (is_whole) add_span(spans, side, stretch, begin);
    if (!is_whole && rank == d_.rank) add_span(spans, side, shift(stretch, -d_.of(rank).begin), begin);
  }

  const Sides& sides_;
  const EvenSplit& d_;
  std::int64_t stretch_ = 0, longest_ = 0;
};

}  // namespace

std::vector<TransferChunk> chunk_alike(const Sides& sides, std::size_t chunk_bytes) {
  const Tensor& either = sides.in ? sides.in : sides.out;
  const std::int64_t most = elements_per_chunk(either, chunk_bytes), numel = either.numel();
  std::vector<TransferChunk> chunks;
  for (std::int64_t begin = 0; begin == 0 || begin < numel; begin += most) {
    TransferChunk& chunk = chunks.emplace_back(TransferChunk{.numel = std::min(most, numel - begin)});
    if (sides.in) chunk.reads.push_back({sides.in.flat(begin, chunk.numel), 0});
    if (sides.out) chunk.writes.push_back({sides.out.flat(begin, chunk.numel), 0});
  }
  return chunks;
}

std::vector<TransferChunk> chunk_split(const Sides& sides, const EvenSplit& division,
                                       std::size_t chunk_bytes) {
  return Cutter(sides, division, chunk_bytes).cut_all();
}

}  // namespace dt::comm
