#include "comm/algorithms.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "comm/small_all_reduce.hpp"
#include "comm/window_algorithms.hpp"

namespace dt::comm {

namespace {

// A segment: small enough that what arrived is combined, and what was combined is sent, out of the caches;
// large enough that its messages are few. The parts of many ranks are no smaller than that.
constexpr std::size_t segment_bytes = std::size_t{1} << 20;
constexpr std::size_t min_segment_part_bytes = std::size_t{128} << 10;
constexpr std::size_t broadcast_segment_bytes = std::size_t{512} << 10;
constexpr std::size_t line_bytes = 64;

using PartOf = std::function<Part(int rank)>;

std::int64_t divide_up(std::int64_t count, std::int64_t unit) {
  return (count + unit - 1) / unit;
}

/// At least one: an operation on nothing is still an operation.
std::size_t num_segments(std::int64_t count, std::int64_t segment) {
  return static_cast<std::size_t>(std::max<std::int64_t>(1, divide_up(count, segment)));
}

std::int64_t elements_of(std::size_t bytes, const Tensor& tensor) {
  return static_cast<std::int64_t>(bytes / dtype_bytes(tensor.dtype()));
}

/// Elements of one rank's part of a segment: whole cache lines.
std::int64_t segment_part_of(const Caller& caller, const Tensor& tensor) {
  const std::size_t part = segment_bytes / static_cast<std::size_t>(caller.size) / line_bytes * line_bytes;
  return elements_of(std::max(min_segment_part_bytes, part), tensor);
}

Part intersect(const Part& part, std::int64_t begin, std::int64_t end) {
  const std::int64_t first = std::clamp(begin, part.begin, part.begin + part.count);
  const std::int64_t last = std::clamp(end, first, part.begin + part.count);
  return {first, last - first};
}

Part shift(const Part& part, std::int64_t by) {
  return {part.begin + by, part.count};
}

Tensor cut(const Tensor& tensor, const Part& part) {
  return tensor.flat(part.begin, part.count);
}

int rank_ahead(const Caller& caller, int distance) {
  return (caller.rank + distance) % caller.size;
}
int rank_behind(const Caller& caller, int distance) {
  return (caller.rank - distance + caller.size) % caller.size;
}

void add_transfer(Stage& stage, int peer, const Tensor& data, bool is_send) {
  if (data.numel() > 0) stage.transfers.push_back({peer, data.span_bytes(), is_send});
}

/// Every rank sends its elements of part p to rank p; what arrives for this rank becomes `out`. Peers are
/// taken in the order of their distance, so that no rank is everyone's first.
void scatter_and_combine(const Caller& caller, const Tensor& in, const PartOf& part, const Tensor& out,
                         Reduction reduction, Stage& stage) {
  const Part own = part(caller.rank);
  const auto bytes = static_cast<std::size_t>(own.count) * dtype_bytes(in.dtype());
  const std::size_t stride = (bytes + line_bytes - 1) / line_bytes * line_bytes;
  const auto num_peers = static_cast<std::size_t>(caller.size - 1);
  StagingPool::Block block = num_peers > 0 ? caller.staging->take(num_peers * stride) : nullptr;
  std::vector<Tensor> inputs(static_cast<std::size_t>(caller.size));
  inputs[static_cast<std::size_t>(caller.rank)] = cut(in, own);
  for (int distance = 1; distance < caller.size; ++distance) {
    const int from = rank_behind(caller, distance);
    const Tensor received(block->data() + static_cast<std::size_t>(distance - 1) * stride, in.dtype(),
                          {own.count});
    inputs[static_cast<std::size_t>(from)] = received;
    add_transfer(stage, from, received, false);
  }
  for (int distance = 1; distance < caller.size; ++distance) {
    const int to = rank_ahead(caller, distance);
    add_transfer(stage, to, cut(in, part(to)), true);
  }
  stage.then = [block = std::move(block), inputs = std::move(inputs), out, reduction] {
    combine(reduction, inputs, out);
  };
}

/// Every rank sends its part to all.
void gather(const Caller& caller, const Tensor& mine, const Tensor& out, const PartOf& part, Stage& stage) {
  for (int distance = 1; distance < caller.size; ++distance) {
    const int from = rank_behind(caller, distance);
    add_transfer(stage, from, cut(out, part(from)), false);
  }
  for (int distance = 1; distance < caller.size; ++distance) {
    add_transfer(stage, rank_ahead(caller, distance), mine, true);
  }
}

/// Segments of n equal parts; the last one is what is left, in as equal parts as cache lines allow.
PartOf all_reduce_parts(const Tensor& tensor, int size, std::int64_t segment_part, std::int64_t number) {
  const std::int64_t begin = number * segment_part * size;
  const std::int64_t count = std::min(tensor.numel() - begin, segment_part * size);
  const std::int64_t line = elements_of(line_bytes, tensor);
  const std::int64_t part = divide_up(divide_up(count, size), line) * line;
  return [begin, count, part](int rank) {
    return shift(intersect({0, count}, rank * part, (rank + 1) * part), begin);
  };
}

/// The ranks' parts of a whole tensor, in segments: segment i holds the i-th piece of each part.
struct ScatteredParts {
  int size;
  std::int64_t numel, granule, segment_part;

  ScatteredParts(const Caller& caller, const Tensor& whole, std::int64_t granule)
      : size(caller.size),
        numel(whole.numel()),
        granule(granule),
        segment_part(segment_part_of(caller, whole)) {}
  Part of(int rank) const { return part_of(rank, size, numel, granule); }
  PartOf segment(std::size_t number) const {
    return [*this, begin = static_cast<std::int64_t>(number) * segment_part](int rank) {
      const Part whole = of(rank);
      return intersect(whole, whole.begin + begin, whole.begin + begin + segment_part);
    };
  }
  std::size_t num_segments() const {
    const std::int64_t largest = divide_up(divide_up(numel, granule), size) * granule;
    return comm::num_segments(largest, segment_part);
  }
};

}  // namespace

Algorithm all_reduce_algorithm(const Caller& caller, const Tensor& in, const Tensor& out,
                               Reduction reduction) {
  if (is_small_all_reduce(caller, in)) return small_all_reduce_algorithm(caller, in, out, reduction);
  const std::int64_t segment_part = segment_part_of(caller, in);
  const auto make_chain = [=](std::size_t number) -> Chain {
    const PartOf part = all_reduce_parts(in, caller.size, segment_part, static_cast<std::int64_t>(number));
    return [=](int index, Stage& stage) {
      const Tensor mine = cut(out, part(caller.rank));
      if (index == 0) scatter_and_combine(caller, in, part, mine, reduction, stage);
      if (index == 1) gather(caller, mine, out, part, stage);
      return index < 2;
    };
  };
  const Algorithm messages{make_chain, num_segments(in.numel(), segment_part * caller.size)};
  if (!is_for_window(caller, in.bytes())) return messages;
  const PartOf part = all_reduce_parts(in, caller.size, divide_up(in.numel(), caller.size), 0);
  return window_algorithm(caller, {OperationKind::all_reduce, in, out, reduction, part}, messages);
}

Algorithm reduce_scatter_algorithm(const Caller& caller, const Tensor& in, const Tensor& out,
                                   Reduction reduction, std::int64_t granule) {
  const ScatteredParts parts(caller, in, granule);
  const auto make_chain = [=](std::size_t number) -> Chain {
    return [=, part = parts.segment(number)](int index, Stage& stage) {
      if (index > 0) return false;
      const Tensor mine = cut(out, shift(part(caller.rank), -parts.of(caller.rank).begin));
      scatter_and_combine(caller, in, part, mine, reduction, stage);
      return true;
    };
  };
  const Algorithm messages{make_chain, parts.num_segments()};
  if (!is_for_window(caller, in.bytes())) return messages;
  const PartOf part = [parts](int rank) { return parts.of(rank); };
  return window_algorithm(caller, {OperationKind::reduce_scatter, in, out, reduction, part}, messages);
}

Algorithm all_gather_algorithm(const Caller& caller, const Tensor& in, const Tensor& out,
                               std::int64_t granule) {
  const ScatteredParts parts(caller, out, granule);
  const auto make_chain = [=](std::size_t number) -> Chain {
    return [=, part = parts.segment(number)](int index, Stage& stage) {
      if (index > 0) return false;
      const Tensor mine = cut(in, shift(part(caller.rank), -parts.of(caller.rank).begin));
      gather(caller, mine, out, part, stage);
      stage.then = [mine, copy = cut(out, part(caller.rank))] { convert(mine, copy); };
      return true;
    };
  };
  const Algorithm messages{make_chain, parts.num_segments()};
  if (!is_for_window(caller, out.bytes())) return messages;
  const PartOf part = [parts](int rank) { return parts.of(rank); };
  return window_algorithm(caller, {OperationKind::all_gather, in, out, {}, part}, messages);
}

Algorithm broadcast_algorithm(const Caller& caller, const Tensor& data, int root) {
  const std::int64_t segment = elements_of(broadcast_segment_bytes, data);
  const int size = caller.size;
  const int position = (caller.rank - root + size) % size;  // in the tree, whose root is 0
  // A position's parent lacks its lowest one; its children have one more below that.
  const int lowest =
      position == 0 ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(size))) : position & -position;
  const auto rank_at = [=](int at) { return (at + root) % size; };
  const auto make_chain = [=](std::size_t number) -> Chain {
    const std::int64_t begin = static_cast<std::int64_t>(number) * segment;
    const Tensor mine = cut(data, intersect({0, data.numel()}, begin, begin + segment));
    return [=](int index, Stage& stage) {
      if (index == 0 && position != 0) {
        add_transfer(stage, rank_at(position - lowest), mine, false);
      }
      for (int one = lowest / 2; index == 1 && one > 0; one /= 2) {
        if (position + one < size) add_transfer(stage, rank_at(position + one), mine, true);
      }
      return index < 2;
    };
  };
  return {make_chain, num_segments(data.numel(), segment)};
}

Algorithm barrier_algorithm(const Caller& caller) {
  const auto make_chain = [caller](std::size_t) -> Chain {
    return [caller, block = caller.staging->take(2)](int index, Stage& stage) {
      const int distance = 1 << index;
      if (distance >= caller.size) return false;
      stage.transfers.push_back({rank_behind(caller, distance), block->span().subspan(0, 1), false});
      stage.transfers.push_back({rank_ahead(caller, distance), block->span().subspan(1, 1), true});
      return true;
    };
  };
  return {make_chain};
}

Algorithm transfer_algorithm(int peer, const Tensor& data, bool is_send) {
  const auto make_chain = [=](std::size_t) -> Chain {
    return [=](int index, Stage& stage) {
      if (index == 0) stage.transfers.push_back({peer, data.span_bytes(), is_send});
      return index == 0;
    };
  };
  return {make_chain};
}

}  // namespace dt::comm
