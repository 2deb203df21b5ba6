#include "comm/algorithms/algorithms.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>
#include <vector>

#include "base/numeric/integer.hpp"
#include "comm/algorithms/gather_by_doubling.hpp"
#include "comm/algorithms/window_algorithms.hpp"
#include "comm/core/collective.hpp"
#include "comm/core/reduction.hpp"

namespace dt::comm {

namespace {

// A segment is small enough that its data are still in the caches when they are combined and when
// they are sent. It is large enough that its messages are few. With many ranks, ranges are no
// smaller than min_segment_part_bytes, unless the bucket allows only few bytes under way.
constexpr std::size_t segment_bytes = std::size_t{1} << 20;
constexpr std::size_t min_segment_part_bytes = std::size_t{128} << 10;
constexpr std::size_t broadcast_segment_bytes = std::size_t{512} << 10;
// The root of a reduction gets at most so many bytes of inputs, rather than two messages in a row.
constexpr std::size_t most_bytes_to_root = std::size_t{256} << 10;
// Smaller operations go by messages.
constexpr std::size_t min_placed_bytes = std::size_t{128} << 10;
// A gather by doubling passes on what a rank has received, round by round. For ranges up to this size and
// from this number of ranks on, that takes less time than a message to each rank.
constexpr std::size_t max_doubled_range_bytes = std::size_t{4} << 10;
constexpr int min_doubling_ranks = 5;

/// Returns the number of segments, at least one: an operation on nothing is still an operation.
std::size_t num_segments(std::int64_t count, std::int64_t segment) {
  return static_cast<std::size_t>(std::max<std::int64_t>(1, ceil_div(count, segment)));
}

/// Returns the bytes of one rank's range of a segment, in whole cache lines.
std::size_t segment_part_bytes(const Caller& caller) {
  const auto size = static_cast<std::size_t>(caller.size);
  const std::size_t range_bytes = std::max(min_segment_part_bytes, segment_bytes / size);
  const std::size_t most =
      caller.bucket_bytes > 0 ? caller.bucket_bytes / min_segments_under_way / size : range_bytes;
  return std::max(line_bytes, std::min(range_bytes, most) / line_bytes * line_bytes);
}

std::int64_t segment_part_of(const Caller& caller, DType dtype) {
  return elements_of(segment_part_bytes(caller), dtype);
}

int rank_ahead(const Caller& caller, int distance) {
  return (caller.rank + distance) % caller.size;
}
int rank_behind(const Caller& caller, int distance) {
  return (caller.rank - distance + caller.size) % caller.size;
}

/// Sends each rank p its elements of range p, and combines what arrives for this rank into `out`. Takes
/// peers in the order of their distance, so that ranks do not all begin with the same one.
void scatter_and_combine(const Caller& caller, const Tensor& in, const RangeOf& range_of, const Tensor& out,
                         Reduction reduction, Round& round) {
  const Range own = range_of(caller.rank);
  const auto bytes = static_cast<std::size_t>(own.count) * dtype_bytes(in.dtype());
  const std::size_t stride = round_up(bytes, line_bytes);
  const auto num_peers = static_cast<std::size_t>(caller.size - 1);
  StagingPool::Block block = num_peers > 0 ? caller.staging->acquire(num_peers * stride) : nullptr;
  std::vector<Tensor> inputs(static_cast<std::size_t>(caller.size));
  inputs[static_cast<std::size_t>(caller.rank)] = flat_view(in, own);
  for (int distance = 1; distance < caller.size; ++distance) {
    const int from = rank_behind(caller, distance);
    const Tensor received(*block, in.dtype(), {own.count}, static_cast<std::size_t>(distance - 1) * stride);
    inputs[static_cast<std::size_t>(from)] = received;
    add_transfer(round, from, received, false);
  }
  for (int distance = 1; distance < caller.size; ++distance) {
    const int to = rank_ahead(caller, distance);
    add_transfer(round, to, flat_view(in, range_of(to)), true);
  }
  round.then = [block = std::move(block), inputs = std::move(inputs), out, reduction] {
    combine(reduction, inputs, out);
  };
}

/// Sends this rank's range to all ranks, and receives theirs.
void gather(const Caller& caller, const Tensor& mine, const Tensor& out, const RangeOf& range_of,
            Round& round) {
  for (int distance = 1; distance < caller.size; ++distance) {
    const int from = rank_behind(caller, distance);
    add_transfer(round, from, flat_view(out, range_of(from)), false);
  }
  for (int distance = 1; distance < caller.size; ++distance) {
    add_transfer(round, rank_ahead(caller, distance), mine, true);
  }
}

/// Returns the n equal ranges of a segment. The last segment has the remaining elements, in ranges as
/// equal as cache lines allow.
RangeOf all_reduce_parts(const Collective& call, int size, std::int64_t segment_part, std::int64_t number) {
  const std::int64_t begin = number * segment_part * size;
  const std::int64_t count = std::min(call.numel - begin, segment_part * size);
  const std::int64_t line = elements_of(line_bytes, call.dtype);
  const std::int64_t range = round_up(ceil_div(count, size), line);
  return [begin, count, range](int rank) {
    return shift(intersect({0, count}, rank * range, (rank + 1) * range), begin);
  };
}

/// The ranks' ranges of a whole tensor, in segments: segment i holds the i-th piece of each range.
struct ScatteredRanges {
  int size;
  RangeOf of;
  std::int64_t segment_part;

  ScatteredRanges(const Caller& caller, const Collective& call)
      : size(caller.size), of(call.part), segment_part(segment_part_of(caller, call.dtype)) {}
  RangeOf segment(std::size_t number) const {
    return [*this, begin = static_cast<std::int64_t>(number) * segment_part](int rank) {
      return piece_of(of(rank), begin, segment_part);
    };
  }
  std::size_t num_segments() const {
    std::int64_t largest = 0;
    for (int rank = 0; rank < size; ++rank) largest = std::max(largest, of(rank).count);
    return comm::num_segments(largest, segment_part);
  }
};

/// Returns whether a collective gathers by doubling. The ranges of one of several segments do not adjoin.
bool gathers_by_doubling(const Caller& caller, const SegmentedCollective& c) {
  return c.num_segments == 1 && caller.size >= min_doubling_ranks &&
         c.bytes() <= max_doubled_range_bytes * static_cast<std::size_t>(caller.size);
}

RoundSequence message_chain(const Caller& caller, std::shared_ptr<const SegmentedCollective> collective,
                            std::size_t number) {
  RangeOf range_of = collective->segment(number);
  return
      [caller, collective = std::move(collective), range_of = std::move(range_of)](int index, Round& round) {
        const SegmentedCollective& c = *collective;
        const Range own = range_of(caller.rank);
        if (c.reduces() && index == 0) {
          scatter_and_combine(caller, c.in, range_of, c.local_out(own, caller.rank), c.reduction, round);
          return true;
        }
        if (!c.gathers()) return false;
        const int turn = index - (c.reduces() ? 1 : 0);
        const Tensor mine = c.reduces() ? flat_view(c.out, own) : c.local_in(own, caller.rank);
        const Tensor copy = flat_view(c.out, own);
        if (gathers_by_doubling(caller, c)) {
          const GatherByDoubling doubling(caller.rank, {0, caller.size}, c.out, range_of);
          if (turn == 0) cast(mine, copy);
          if (turn < doubling.num_rounds()) doubling.add_round(turn, round);
          return turn < doubling.num_rounds();
        }
        if (turn > 0) return false;
        gather(caller, mine, c.out, range_of, round);
        round.then = [mine, copy] { cast(mine, copy); };
        return true;
      };
}

Algorithm message_algorithm(const Caller& caller,
                            const std::shared_ptr<const SegmentedCollective>& collective) {
  const SegmentedCollective& c = *collective;
  const std::size_t segment = segment_part_bytes(caller) * static_cast<std::size_t>(caller.size);
  return {.make_sequence = [=](std::size_t number) { return message_chain(caller, collective, number); },
          .num_sequences = c.num_segments,
          .window = sequence_window(caller, segment),
          .sequence_bytes = std::min(segment, c.bytes())};
}

/// Returns an algorithm by messages, or one through shared memory if the operation is large and the
/// ranks' placement allows it.
Algorithm placed_algorithm(const Caller& caller,
                           const std::shared_ptr<const SegmentedCollective>& collective) {
  const SegmentedCollective& c = *collective;
  Algorithm messages = message_algorithm(caller, collective);
  if (caller.size == 1 || c.bytes() < min_placed_bytes) return messages;
  switch (caller.locality->state()) {
    case Locality::State::undecided:
      return topology_discovery_algorithm(
          caller, [=] { return placed_algorithm(caller, collective); }, messages,
          std::max(messages.num_sequences, num_window_sequences(c, caller.size)));
    case Locality::State::open:
      if (caller.locality->placement().num_hosts == 1) return window_algorithm(caller, c);
      if (is_hierarchical_faster(c, caller.locality->placement()))
        return hierarchical_algorithm(caller, c, messages);
      break;
    case Locality::State::absent:
      break;
  }
  return messages;
}

}  // namespace

std::size_t sequence_window(const Caller& caller, std::size_t segment) {
  if (caller.bucket_bytes == 0) return std::numeric_limits<std::size_t>::max();
  return std::max(min_segments_under_way, caller.bucket_bytes / segment);
}

std::size_t least_bucket_bytes(int size) {
  return min_segments_under_way * static_cast<std::size_t>(size) * line_bytes;
}

Algorithm all_reduce_algorithm(const Caller& caller, const Collective& call) {
  if (is_small_all_reduce(caller, call.in))
    return small_all_reduce_algorithm(caller, call.in, call.out, call.reduction);
  const std::int64_t segment_part = segment_part_of(caller, call.dtype);
  SegmentedCollective segmented{call, {}, 1};
  segmented.part = all_reduce_parts(call, caller.size, ceil_div(call.numel, caller.size), 0);
  segmented.segment = [=, size = caller.size](std::size_t number) {
    return all_reduce_parts(call, size, segment_part, static_cast<std::int64_t>(number));
  };
  segmented.num_segments = num_segments(call.numel, segment_part * caller.size);
  return placed_algorithm(caller, std::make_shared<const SegmentedCollective>(std::move(segmented)));
}

Algorithm ranges_algorithm(const Caller& caller, const Collective& call) {
  const ScatteredRanges ranges(caller, call);
  SegmentedCollective segmented{call, {}, 1};
  segmented.segment = [ranges](std::size_t number) { return ranges.segment(number); };
  segmented.num_segments = ranges.num_segments();
  return placed_algorithm(caller, std::make_shared<const SegmentedCollective>(std::move(segmented)));
}

Algorithm broadcast_algorithm(const Caller& caller, const Collective& call) {
  const std::int64_t segment = elements_of(broadcast_segment_bytes, call.dtype);
  const int size = caller.size, root = call.root;
  const Tensor data = caller.rank == root ? call.in : call.out;
  const int position = (caller.rank - root + size) % size;  // in the tree, whose root is 0
  // A position's parent lacks its lowest set bit. Its children have one more set bit, below that.
  const int lowest =
      position == 0 ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(size))) : position & -position;
  const auto rank_at = [=](int at) { return (at + root) % size; };
  const auto make_chain = [=](std::size_t number) -> RoundSequence {
    const std::int64_t begin = static_cast<std::int64_t>(number) * segment;
    const Tensor mine = flat_view(data, intersect({0, data.numel()}, begin, begin + segment));
    return [=](int index, Round& round) {
      if (index == 0 && position != 0) {
        add_transfer(round, rank_at(position - lowest), mine, false);
      }
      for (int one = lowest / 2; index == 1 && one > 0; one /= 2) {
        if (position + one < size) add_transfer(round, rank_at(position + one), mine, true);
      }
      return index < 2;
    };
  };
  return {make_chain, num_segments(data.numel(), segment)};
}

Algorithm reduce_algorithm(const Caller& caller, const Collective& call) {
  const int size = caller.size, root = call.root;
  const std::size_t most =
      caller.bucket_bytes > 0 ? std::min(most_bytes_to_root, caller.bucket_bytes) : most_bytes_to_root;
  const bool is_small = call.bytes() * static_cast<std::size_t>(size) <= most;
  const std::int64_t segment_part = segment_part_of(caller, call.dtype);
  const auto make_chain = [=](std::size_t number) -> RoundSequence {
    RangeOf range_of = all_reduce_parts(call, size, segment_part, static_cast<std::int64_t>(number));
    if (is_small) {
      range_of = [root, all = Range{0, call.numel}](int rank) {
        return rank == root ? all : Range{all.count, 0};
      };
    }
    const Range own = range_of(caller.rank);
    const auto bytes = static_cast<std::size_t>(own.count) * dtype_bytes(call.dtype);
    const StagingPool::Block block = caller.rank == root ? nullptr : caller.staging->acquire(bytes);
    const Tensor sum = block ? Tensor(*block, call.dtype, Shape{own.count}) : flat_view(call.out, own);
    return [=, block = block](int index, Round& round) {
      if (index == 0) scatter_and_combine(caller, call.in, range_of, sum, call.reduction, round);
      if (index == 1 && caller.rank != root) add_transfer(round, root, sum, true);
      if (index == 1 && caller.rank == root) {
        for (int distance = 1; distance < size; ++distance) {
          const int from = rank_behind(caller, distance);
          add_transfer(round, from, flat_view(call.out, range_of(from)), false);
        }
      }
      return index < 2;
    };
  };
  const std::size_t segment = segment_part_bytes(caller) * static_cast<std::size_t>(size);
  return {.make_sequence = make_chain,
          .num_sequences = is_small ? 1 : num_segments(call.numel, segment_part * size),
          .window = sequence_window(caller, segment),
          .sequence_bytes = std::min(segment, call.bytes())};
}

Algorithm root_exchange_algorithm(const Caller& caller, const Collective& call) {
  const bool to_root = traits(call.kind).to_root;
  const std::int64_t segment_part = segment_part_of(caller, call.dtype);
  const auto make_chain = [=](std::size_t number) -> RoundSequence {
    return [=](int index, Round& round) {
      if (index > 0) return false;
      const auto piece = [&](int rank) {
        return piece_of(call.part(rank), static_cast<std::int64_t>(number) * segment_part, segment_part);
      };
      const Range own = piece(caller.rank);
      if (caller.rank != call.root) {
        const Tensor local = to_root ? call.local_in(own, caller.rank) : call.local_out(own, caller.rank);
        add_transfer(round, call.root, local, to_root);
        return true;
      }
      for (int distance = 1; distance < caller.size; ++distance) {
        const int peer = rank_ahead(caller, distance);
        add_transfer(round, peer, flat_view(to_root ? call.out : call.in, piece(peer)), !to_root);
      }
      round.then = [from = call.local_in(own, caller.rank), to = call.local_out(own, caller.rank)] {
        cast(from, to);
      };
      return true;
    };
  };
  const std::size_t segment = segment_part_bytes(caller) * static_cast<std::size_t>(caller.size);
  return {.make_sequence = make_chain,
          .num_sequences = num_segments(ceil_div(call.numel, caller.size), segment_part),
          .window = sequence_window(caller, segment),
          .sequence_bytes = std::min(segment, call.bytes())};
}

Algorithm barrier_algorithm(const Caller& caller, const Collective& /*call*/) {
  const auto make_chain = [caller](std::size_t) -> RoundSequence {
    return [caller, block = caller.staging->acquire(2)](int index, Round& round) {
      const int distance = 1 << index;
      if (distance >= caller.size) return false;
      round.transfers.push_back({rank_behind(caller, distance), block->span().subspan(0, 1), false});
      round.transfers.push_back({rank_ahead(caller, distance), block->span().subspan(1, 1), true});
      return true;
    };
  };
  return {make_chain};
}

Algorithm transfer_algorithm(int peer, const Tensor& data, bool is_send) {
  const auto make_chain = [=](std::size_t) -> RoundSequence {
    return [=](int index, Round& round) {
      if (index == 0) round.transfers.push_back({peer, data.span_bytes(), is_send});
      return index == 0;
    };
  };
  return {make_chain};
}

}  // namespace dt::comm
