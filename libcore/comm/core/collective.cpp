#include "comm/core/collective.hpp"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

namespace dt::comm {

namespace {

std::int64_t elements_per_chunk(DType dtype, std::size_t chunk_bytes) {
  return std::max<std::int64_t>(1, elements_of(chunk_bytes, dtype));
}

void check_elements(const Tensor& side, std::int64_t due, std::string_view what) {
  DT_CHECK(side.numel() == due, "{}: {} elements where {} are due", what, side.numel(), due);
}

void check_present(const Tensor& side, std::string_view what) {
  DT_CHECK(side || side.numel() == 0, "{} without a tensor that this rank must have", what);
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
  Cutter(const Collective& call, int rank, int size, std::size_t chunk_bytes)
      : c_(call), rank_(rank), size_(size) {
    const std::int64_t line = elements_of(line_bytes, call.dtype);
    stretch_ = std::max(elements_per_chunk(call.dtype, chunk_bytes) / size / line * line, line);
    for (int r = 0; r < size; ++r) longest_ = std::max(longest_, call.part(r).count);
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
    for (int rank = 0; rank < size_; ++rank) {
      const Range stretch = piece_of(c_.part(rank), begin, stretch_);
      chunk.parts.push_back({chunk.numel, stretch.count});
      if (c_.in) add(chunk.reads, c_.in, traits(c_.kind).in, rank, stretch, chunk.numel);
      if (c_.out) add(chunk.writes, c_.out, traits(c_.kind).out, rank, stretch, chunk.numel);
      chunk.numel += stretch.count;
    }
    return chunk;
  }

  void add(std::vector<StagedRange>& spans, const Tensor& side, Extent extent, int rank, const Range& stretch,
           std::int64_t begin) const {
    if (extent == Extent::whole) add_span(spans, side, stretch, begin);
    if (extent == Extent::part && rank == rank_)
      add_span(spans, side, shift(stretch, -c_.part(rank).begin), begin);
  }

  const Collective& c_;
  int rank_, size_;
  std::int64_t stretch_ = 0, longest_ = 0;
};

/// Returns the elements that a rank has of an operation on N elements.
std::int64_t elements_due(Extent extent, const Collective& call, int rank) {
  return extent == Extent::part ? call.part(rank).count : call.numel;
}

RangeOf one_of(std::vector<Range> ranges) {
  return [ranges = std::make_shared<const std::vector<Range>>(std::move(ranges))](int rank) {
    return (*ranges)[static_cast<std::size_t>(rank)];
  };
}

/// Adds consecutive ranges of these numbers of elements of a tensor, or of equal numbers if there are
/// none.
void add_consecutive(std::vector<Range>& ranges, std::span<const std::int64_t> counts, const Tensor& side,
                     int size, std::string_view what) {
  DT_CHECK(counts.empty() || std::ssize(counts) == size, "{}: {} counts for {} ranks", what, counts.size(),
           size);
  const std::int64_t numel = side.numel();
  std::int64_t begin = 0;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(size); ++rank) {
    const std::int64_t count = counts.empty() ? numel / size : counts[rank];
    DT_CHECK(count >= 0, "{}: {} elements for a rank", what, count);
    ranges.push_back({begin, count});
    begin += count;
  }
  check_elements(side, begin, what);
}

void set_parts(Collective& call, int rank, int size) {
  const std::string_view name = name_of(call.kind);
  const auto ranges = std::make_shared<std::vector<Range>>();
  ranges->reserve(2 * static_cast<std::size_t>(size));
  add_consecutive(*ranges, call.in_counts, call.in, size, name);
  add_consecutive(*ranges, call.out_counts, call.out, size, name);
  call.part = [of = ranges->data()](int peer) { return of[peer]; };
  call.arriving = [of = ranges->data() + size](int peer) { return of[peer]; };
  call.ranges = ranges;
  const std::int64_t given = call.part(rank).count, got = call.arriving(rank).count;
  DT_CHECK(given == got, "{}: rank {} gives itself {} elements, and gets {}", name, rank, given, got);
}

std::int64_t longest_of(const RangeOf& range_of, int size) {
  std::int64_t longest = 0;
  for (int rank = 0; rank < size; ++rank) longest = std::max(longest, range_of(rank).count);
  return longest;
}

}  // namespace

Collective complete(Collective call, int rank, int size) {
  const OperationTraits& of = traits(call.kind);
  const std::string_view name = name_of(call.kind);
  DT_CHECK(call.root >= 0 && call.root < size, "{} with root {} of {} ranks", name, call.root, size);
  const bool gives = of.gives(rank == call.root), gets = of.gets(rank == call.root);
  if (!gives) call.in = {};
  if (!gets) call.out = {};
  if (!gives && !gets) return call;
  if (gives) check_present(call.in, name);
  if (gets) check_present(call.out, name);
  call.dtype = (gives ? call.in : call.out).dtype();
  DT_CHECK(!gives || !gets || call.in.dtype() == call.out.dtype(), "{} from {} to {}", name,
           dtype_name(call.in.dtype()), dtype_name(call.out.dtype()));
  DT_CHECK(!of.reduces || has_dtype(ReducibleTypes(), call.dtype), "{} elements cannot be reduced",
           dtype_name(call.dtype));
  if (gives && of.in != Extent::part)
    call.numel = call.in.numel();
  else if (gets && of.out != Extent::part)
    call.numel = call.out.numel();
  else
    call.numel = size * (gives ? call.in : call.out).numel();
  if (of.in == Extent::parts) {
    set_parts(call, rank, size);
    return call;
  }
  DT_CHECK(!of.has_root() || !of.in_parts() || call.numel % size == 0, "{}: {} elements for {} ranks", name,
           call.numel, size);
  if (of.in_parts()) {
    call.part = [size, numel = call.numel, granule = call.granule](int of_rank) {
      return even_range(of_rank, size, numel, granule);
    };
  }
  if (gives) check_elements(call.in, elements_due(of.in, call, rank), name);
  if (gets) check_elements(call.out, elements_due(of.out, call, rank), name);
  return call;
}

std::vector<TransferChunk> chunk_alike(const Collective& call, int /*rank*/, int /*size*/,
                                       std::size_t chunk_bytes) {
  const std::int64_t most = elements_per_chunk(call.dtype, chunk_bytes), numel = call.numel;
  std::vector<TransferChunk> chunks;
  for (std::int64_t begin = 0; begin == 0 || begin < numel; begin += most) {
    TransferChunk& chunk = chunks.emplace_back(TransferChunk{.numel = std::min(most, numel - begin)});
    if (call.in) chunk.reads.push_back({call.in.flat(begin, chunk.numel), 0});
    if (call.out) chunk.writes.push_back({call.out.flat(begin, chunk.numel), 0});
  }
  return chunks;
}

std::vector<TransferChunk> chunk_parts(const Collective& call, int rank, int size, std::size_t chunk_bytes) {
  return Cutter(call, rank, size, chunk_bytes).cut_all();
}

std::vector<TransferChunk> chunk_exchanges(const Collective& call, int /*rank*/, int size,
                                           std::size_t chunk_bytes) {
  const std::int64_t stretch =
      std::max<std::int64_t>(1, elements_per_chunk(call.dtype, chunk_bytes) / 2 / size);
  const std::int64_t longest = std::max(longest_of(call.part, size), longest_of(call.arriving, size));
  std::vector<TransferChunk> chunks;
  for (std::int64_t begin = 0; begin == 0 || begin < longest; begin += stretch) {
    TransferChunk& chunk = chunks.emplace_back();
    const auto add = [&](const RangeOf& range_of, const Tensor& side, std::vector<Range>& ranges,
                         std::vector<StagedRange>& spans) {
      for (int rank = 0; rank < size; ++rank) {
        const Range piece = piece_of(range_of(rank), begin, stretch);
        ranges.push_back({chunk.numel, piece.count});
        add_span(spans, side, piece, chunk.numel);
        chunk.numel += piece.count;
      }
    };
    add(call.part, call.in, chunk.parts, chunk.reads);
    add(call.arriving, call.out, chunk.arriving, chunk.writes);
  }
  return chunks;
}

Collective call_of_chunk(const Collective& whole, const TransferChunk& chunk, const Tensor& staged,
                         int rank) {
  Collective call = whole;
  const OperationTraits& of = traits(whole.kind);
  const auto side = [&](Extent extent) {
    return extent == Extent::part ? flat_view(staged, chunk.parts[static_cast<std::size_t>(rank)]) : staged;
  };
  if (of.gives(rank == whole.root)) call.in = side(of.in);
  if (of.gets(rank == whole.root)) call.out = side(of.out);
  call.numel = chunk.numel;
  if (!chunk.parts.empty()) call.part = one_of(chunk.parts);
  if (!chunk.arriving.empty()) {
    call.arriving = one_of(chunk.arriving);
    call.shares_tag = true;
  }
  return call;
}

}  // namespace dt::comm
