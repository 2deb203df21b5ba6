#include "comm/device_collectives/rounds.hpp"

#include <utility>

#include "kernels/combine.hpp"

namespace dt::comm {

std::vector<Range> ReduceStretch::runs(const Levels& levels, int l) const {
  std::vector<Range> runs;
  for (int h = 0; h < (is_whole ? 1 : levels.num_nodes); ++h) {
    const Range range = parts(levels.rank_of(h, l));
    if (range.count == 0) continue;
    if (!runs.empty() && runs.back().begin + runs.back().count == range.begin) {
      runs.back().count += range.count;
    } else {
      runs.push_back(range);
    }
  }
  return runs;
}

std::int64_t ReduceStretch::begin_in_runs(const Levels& levels, int h) const {
  std::int64_t begin = 0;
  for (int before = 0; before < h && !is_whole; ++before) begin += count(levels, before, levels.local);
  return begin;
}

StagedBytes staged_bytes(const Levels& levels, DType dtype, std::int64_t count) {
  const auto neighbours = static_cast<std::size_t>(levels.per_node - 1),
             nodes = static_cast<std::size_t>(levels.num_nodes);
  const std::size_t arriving = neighbours * nodes * bytes_of_lines(dtype, count);
  if (!levels.has_nodes()) return {.of_neighbours = arriving};
  const std::size_t sum = bytes_of_lines(accumulator_dtype(dtype), count);
  return {arriving, nodes * sum, (nodes - 1) * sum};
}

namespace {

/// The number of kernels after which combining calls `pace` again, as another exchange does. Over
/// many nodes a stretch has several runs, each with a kernel.
constexpr std::size_t kernels_of_exchange = 4;

/// Returns `rows` rows of `count` elements at the beginning of `memory`, each of whole cache lines.
Tensor rows_at(const Tensor& memory, int rows, std::int64_t count) {
  const auto row = bytes_of_lines(memory.dtype(), count) / dtype_bytes(memory.dtype());
  return {memory.raw(), memory.dtype(), {rows, static_cast<std::int64_t>(row)}, memory.device()};
}

/// Returns the row of `other` among the rows of all others, by number.
Tensor row_of(const Tensor& rows, int other, int own, std::int64_t count) {
  return rows.flat((other < own ? other : other - 1) * rows.dim(1), count);
}

}  // namespace

HierarchicalSums::HierarchicalSums(const Levels& levels, Reduction reduction, const Memory& memory,
                                   const Tensor& in, StretchOf stretch, OwnOf own_out)
    : levels_(levels),
      reduction_(reduction),
      memory_(memory),
      in_(in),
      sum_dtype_(accumulator_dtype(in.dtype())),
      staged_(staged_bytes(levels, in.dtype(), memory.most)),
      stretch_(std::move(stretch)),
      own_out_(std::move(own_out)) {}

int HierarchicalSums::add_rounds(std::vector<StreamRound>& rounds) const {
  rounds.push_back({0, [this](std::int64_t n, Transfers& transfers) { exchange_within(n, transfers); },
                    [this](std::int64_t n) { combine_within(n); }});
  if (!levels_.has_nodes()) return lag_of_combining;
  rounds.push_back({lag_of_combining,
                    [this](std::int64_t n, Transfers& transfers) { exchange_between(n, transfers); },
                    [this](std::int64_t n) { combine_between(n); }});
  return 2 * lag_of_combining;
}

/// Returns an area of the staging memory. Areas lie in the same places for all stretches. While
/// neighbours send values of one stretch, the sums of the stretch before the last, in the same half,
/// are under way between nodes.
Tensor HierarchicalSums::staged(std::int64_t number, Area area, DType dtype) const {
  const std::int64_t half = memory_.staging.numel() / num_halves;
  std::size_t begin = 0, bytes = staged_.of_neighbours;
  if (area != Area::of_neighbours) begin = std::exchange(bytes, staged_.partials);
  if (area == Area::of_nodes) begin += std::exchange(bytes, staged_.of_nodes);
  const Tensor there = memory_.staging.flat(number % num_halves * half + static_cast<std::int64_t>(begin),
                                            static_cast<std::int64_t>(bytes));
  return {there.raw(), dtype, {static_cast<std::int64_t>(bytes / dtype_bytes(dtype))}, there.device()};
}

/// Returns a row for each neighbour, by this rank's runs.
std::vector<Tensor> HierarchicalSums::of_neighbours(std::int64_t number,
                                                    const std::vector<Range>& own) const {
  Tensor left = staged(number, Area::of_neighbours, in_.dtype());
  std::vector<Tensor> rows;
  for (const Range& run : own) {
    rows.push_back(rows_at(left, levels_.per_node - 1, run.count));
    left = left.flat(rows.back().numel(), left.numel() - rows.back().numel());
  }
  return rows;
}

/// Returns the sum that this node's ranks have of the elements of rank (h, local).
Tensor HierarchicalSums::partial(std::int64_t number, int h) const {
  const ReduceStretch stretch = stretch_(number);
  return staged(number, Area::partials, sum_dtype_)
      .flat(stretch.begin_in_runs(levels_, h), stretch.count(levels_, h, levels_.local));
}

/// Returns a row for each other node.
Tensor HierarchicalSums::of_nodes(std::int64_t number) const {
  return rows_at(staged(number, Area::of_nodes, sum_dtype_), levels_.num_nodes - 1,
                 stretch_(number).count(levels_, levels_.node, levels_.local));
}

void HierarchicalSums::exchange_within(std::int64_t number, Transfers& transfers) const {
  const ReduceStretch stretch = stretch_(number);
  const std::vector<Range> own = stretch.runs(levels_, levels_.local);
  const std::vector<Tensor> arriving = of_neighbours(number, own);
  levels_.for_neighbours([&](int to, int from) {
    for (const Range& run : stretch.runs(levels_, to))
      transfers.push_back({levels_.rank_of(levels_.node, to), flat_view(in_, run), true});
    for (std::size_t i = 0; i < own.size(); ++i)
      transfers.push_back({levels_.rank_of(levels_.node, from),
                           row_of(arriving[i], from, levels_.local, own[i].count), false});
  });
}

void HierarchicalSums::combine_within(std::int64_t number) const {
  const std::vector<Range> own = stretch_(number).runs(levels_, levels_.local);
  const std::vector<Tensor> arrived = of_neighbours(number, own);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const Tensor sum = levels_.has_nodes()
                           ? staged(number, Area::partials, sum_dtype_).flat(begin, own[i].count)
                           : own_out_(number);
    if (i > 0 && i % kernels_of_exchange == 0) memory_.pace();
    kernels::combine_ranks(memory_.context, reduction_, {flat_view(in_, own[i]), levels_.local, arrived[i]},
                           sum);
    begin += own[i].count;
  }
}

void HierarchicalSums::exchange_between(std::int64_t number, Transfers& transfers) const {
  const Tensor arriving = of_nodes(number);
  const std::int64_t own = stretch_(number).count(levels_, levels_.node, levels_.local);
  levels_.for_nodes([&](int to, int from) {
    transfers.push_back({levels_.rank_of(to, levels_.local), partial(number, to), true});
    transfers.push_back(
        {levels_.rank_of(from, levels_.local), row_of(arriving, from, levels_.node, own), false});
  });
}

void HierarchicalSums::combine_between(std::int64_t number) const {
  const Tensor own = partial(number, levels_.node);
  if (own.numel() == 0) return;
  kernels::combine_ranks(memory_.context, reduction_, {own, levels_.node, of_nodes(number)},
                         own_out_(number));
}

void add_gather_rounds(std::vector<StreamRound>& rounds, int lag, const Levels& levels, const Tensor& out,
                       const StretchOf& stretch) {
  const auto between = [levels, out, stretch](std::int64_t number, Transfers& transfers) {
    const RangeOf range_of = stretch(number).parts;
    levels.for_nodes([&](int to, int from) {
      transfers.push_back({levels.rank_of(to, levels.local), flat_view(out, range_of(levels.rank())), true});
      const int sender = levels.rank_of(from, levels.local);
      transfers.push_back({sender, flat_view(out, range_of(sender)), false});
    });
  };
  const auto within = [levels, out, stretch](std::int64_t number, Transfers& transfers) {
    const ReduceStretch all = stretch(number);
    levels.for_neighbours([&](int to, int from) {
      for (const Range& run : all.runs(levels, levels.local))
        transfers.push_back({levels.rank_of(levels.node, to), flat_view(out, run), true});
      for (const Range& run : all.runs(levels, from))
        transfers.push_back({levels.rank_of(levels.node, from), flat_view(out, run), false});
    });
  };
  if (levels.has_nodes()) rounds.push_back({lag++, between});
  rounds.push_back({lag, within});
}

}  // namespace dt::comm
