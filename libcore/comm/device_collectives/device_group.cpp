#include "comm/device_collectives/device_group.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/numeric/integer.hpp"
#include "kernels/elementwise.hpp"

namespace dt::comm {

namespace {

// Smaller operations, by the bytes of all ranks, are exchanged once and combined by every rank, rather
// than exchanged twice.
constexpr std::size_t most_small_bytes = std::size_t{256} << 10;

// Large operations are divided so that exchanges, which follow each other, are seldom alone with
// nothing to combine or to send between nodes. Smaller stretches would be mostly latency.
constexpr std::int64_t wished_stretches = 8;
constexpr std::size_t least_stretch_bytes = std::size_t{16} << 20;

}  // namespace

DeviceGroup::DeviceGroup(std::unique_ptr<DeviceTransport> transport, ReduceOrder order,
                         const std::optional<Placement>& placement, std::size_t staging_bytes,
                         const std::string& name, std::function<void()> overlapped_work)
    : transport_(std::move(transport)),
      order_(order),
      rank_(transport_->rank()),
      size_(transport_->size()),
      levels_(Levels::of(rank_, size_, placement)),
      name_(name),
      context_(transport_->device(), "communicating in group " + name),
      ahead_(context_.stream()),
      overlapped_work_(std::move(overlapped_work)) {
  // Both halves have whole lines, and enough for a line of each rank, whatever its levels and dtype.
  const std::size_t unit = num_halves * line_bytes;
  staging_bytes_ = std::max(staging_bytes / unit, static_cast<std::size_t>(4 * size_)) * unit;
  transport_->set_overlapped_work(overlapped_work_);
}

/// Returns the stream for one more exchange, and for the few kernels that combine or copy what came.
Stream DeviceGroup::paced() {
  ahead_.wait_if_ahead(overlapped_work_);
  return stream();
}

void DeviceGroup::exchange(const Transfers& transfers) {
  Transfers some, own;
  for (const auto& transfer : transfers) {
    if (transfer.data.numel() > 0) (transfer.peer == rank_ ? own : some).push_back(transfer);
  }
  const auto sends =
      std::ranges::stable_partition(own, [](const auto& transfer) { return !transfer.is_send; });
  DT_CHECK(2 * sends.size() == own.size(), "a rank sends itself {} of {} tensors", sends.size(), own.size());
  for (std::size_t i = 0; i < sends.size(); ++i) copy(sends[i].data, own[i].data);
  if (!some.empty()) transport_->exchange(paced(), some);
}

void DeviceGroup::copy(const Tensor& from, const Tensor& to) {
  if (from.numel() > 0 && from.raw() != to.raw()) kernels::copy(context_, from, to);
}

/// Returns the elements of each rank for which half of the staging memory is enough, in whole cache
/// lines.
std::int64_t DeviceGroup::max_staged_bytes(const Levels& levels, DType dtype) const {
  const auto line = static_cast<std::int64_t>(line_bytes / dtype_bytes(dtype));
  const std::size_t lines = staging_bytes_ / num_halves / staged_bytes(levels, dtype, line).total();
  return static_cast<std::int64_t>(lines) * line;
}

/// Returns the elements of each rank in a stretch, in whole cache lines, of an operation in which one
/// rank has `longest`.
std::int64_t DeviceGroup::stretch_of(const Tensor& tensor, std::int64_t longest, std::int64_t most) const {
  const std::int64_t line = elements_of(line_bytes, tensor);
  const std::int64_t least = elements_of(least_stretch_bytes, tensor) / size_;
  const std::int64_t wished = std::max(ceil_div(longest, wished_stretches), least);
  return std::min(round_up(std::min(wished, longest), line), most);
}

HierarchicalSums::Memory DeviceGroup::memory_for(std::int64_t num_stretches, std::int64_t most) {
  if (staging_.bytes() == 0) staging_ = Buffer(context_.device(), staging_bytes_);
  if (num_stretches > 1 && !combining_) combining_.emplace(context_.device(), "combining in group " + name_);
  return {Tensor(staging_, DType::u8, {static_cast<std::int64_t>(staging_bytes_)}), most,
          num_stretches > 1 ? *combining_ : context_, [this] { ahead_.wait_if_ahead(overlapped_work_); }};
}

/// Runs the rounds of all stretches. Exchange i sends, for each round, the data of stretch i − lag.
/// It waits for the kernels that combine what exchange i − 2 brought. So stretch i takes the memory
/// of stretch i − 2, which no work needs any more.
void DeviceGroup::run(std::int64_t num_stretches, std::span<const StreamRound> rounds) {
  const bool is_beside = num_stretches > 1 && std::ranges::any_of(rounds, [](const StreamRound& round) {
                           return static_cast<bool>(round.combine);
                         });
  std::array<std::unique_ptr<Event>, lag_of_combining> combined;
  for (std::int64_t step = 0; step < num_stretches + rounds.back().lag; ++step) {
    const auto number_of = [&](const StreamRound& round) {
      const std::int64_t number = step - round.lag;
      return number < num_stretches ? number : -1;
    };
    Transfers transfers;
    for (const StreamRound& round : rounds) {
      if (const std::int64_t number = number_of(round); number >= 0) round.exchange(number, transfers);
    }
    std::unique_ptr<Event>& before = combined[static_cast<std::size_t>(step) % combined.size()];
    if (before) std::exchange(before, nullptr)->make_stream_wait(stream());
    exchange(transfers);
    if (is_beside) accelerator().wait_stream(combining_->stream(), stream());
    // Older stretches first: the newest takes the memory of one of them.
    for (auto round = rounds.rbegin(); round != rounds.rend(); ++round) {
      if (const std::int64_t number = number_of(*round); number >= 0 && round->combine)
        round->combine(number);
    }
    if (is_beside) before = accelerator().record_event(combining_->stream());
  }
  if (is_beside) accelerator().wait_stream(stream(), combining_->stream());
}

void DeviceGroup::reduce_small(const Tensor& in, const Tensor& out, Reduction reduction) {
  const auto whole = [N = in.numel()](std::int64_t) {
    return ReduceStretch{[N](int) { return Range{0, N}; }, true};
  };
  std::vector<StreamRound> rounds;
  HierarchicalSums sums(levels_.of_sums(in.dtype()), reduction, memory_for(1, in.numel()), in, whole,
                        [&](std::int64_t) { return out.flat(0, out.numel()); });
  sums.add_rounds(rounds);
  run(1, rounds);
}

void DeviceGroup::all_reduce(const Tensor& in, const Tensor& out, Reduction reduction) {
  const std::int64_t N = in.numel();
  if (N == 0) return;
  if (size_ == 1) return copy(in, out);
  if (order_ == ReduceOrder::free) return transport_->all_reduce(paced(), in, out, reduction);
  const Levels levels = levels_.of_sums(in.dtype());
  if (in.bytes() * static_cast<std::size_t>(size_) <= most_small_bytes &&
      num_halves * staged_bytes(levels, in.dtype(), N).total() <= staging_bytes_)
    return reduce_small(in, out, reduction);
  const std::int64_t line = elements_of(line_bytes, in);
  const std::int64_t most = stretch_of(in, ceil_div(N, size_), max_staged_bytes(levels, in.dtype()));
  const std::int64_t each = most * size_;
  // Ranges of ranks of one place follow each other, so that each neighbour gets one run.
  const auto place = [nodes = levels_](int rank) {
    return rank % nodes.per_node * nodes.num_nodes + rank / nodes.per_node;
  };
  const auto stretch = [&](std::int64_t number) {
    const std::int64_t begin = number * each, count = std::min(each, N - begin);
    return ReduceStretch{
        [=, size = size_](int rank) { return shift(even_range(place(rank), size, count, line), begin); }};
  };
  const std::int64_t num_stretches = ceil_div(N, each);
  std::vector<StreamRound> rounds;
  HierarchicalSums sums(levels, reduction, memory_for(num_stretches, most), in, stretch,
                        [&](std::int64_t number) { return flat_view(out, stretch(number).parts(rank_)); });
  const int lag = sums.add_rounds(rounds);
  add_gather_rounds(rounds, lag, levels_, out, stretch);
  run(num_stretches, rounds);
}

std::int64_t DeviceGroup::longest_of(const RangeOf& range_of) const {
  std::int64_t longest = 0;
  for (int rank = 0; rank < size_; ++rank) longest = std::max(longest, range_of(rank).count);
  return longest;
}

/// Returns whether all ranges are equal, as NCCL's own operations take them.
bool DeviceGroup::are_equal(const RangeOf& range_of) const {
  const std::int64_t count = range_of(0).count;
  for (int rank = 0; rank < size_; ++rank) {
    if (range_of(rank) != Range{rank * count, count}) return false;
  }
  return true;
}

void DeviceGroup::reduce_scatter(const Tensor& in, const Tensor& out, Reduction reduction,
                                 const RangeOf& range_of) {
  if (in.numel() == 0) return;
  if (size_ == 1) return copy(in, out);
  if (order_ == ReduceOrder::free && are_equal(range_of))
    return transport_->reduce_scatter(paced(), in, out, reduction);
  const Levels levels = levels_.of_sums(in.dtype());
  const std::int64_t longest = longest_of(range_of);
  const std::int64_t each = stretch_of(in, longest, max_staged_bytes(levels, in.dtype()));
  const auto stretch = [&](std::int64_t number) {
    return ReduceStretch{[&, number](int rank) { return piece_of(range_of(rank), number * each, each); }};
  };
  const std::int64_t num_stretches = ceil_div(longest, each);
  std::vector<StreamRound> rounds;
  HierarchicalSums sums(levels, reduction, memory_for(num_stretches, each), in, stretch,
                        [&](std::int64_t number) {
                          return flat_view(out, shift(stretch(number).parts(rank_), -range_of(rank_).begin));
                        });
  sums.add_rounds(rounds);
  run(num_stretches, rounds);
}

void DeviceGroup::reduce(const Tensor& in, const Tensor& out, Reduction reduction, int root) {
  if (order_ == ReduceOrder::free && in.numel() > 0 && size_ > 1)
    return transport_->reduce(paced(), in, out, reduction, root);
  reduce_scatter(in, out, reduction, [root, N = in.numel()](int rank) {
    return Range{rank <= root ? 0 : N, rank == root ? N : 0};
  });
}

void DeviceGroup::all_gather(const Tensor& in, const Tensor& out, const RangeOf& range_of) {
  if (out.numel() == 0) return;
  if (size_ == 1) return copy(in, out);
  if (are_equal(range_of)) return transport_->all_gather(paced(), in, out);
  copy(in, flat_view(out, range_of(rank_)));
  const std::int64_t longest = longest_of(range_of);
  // Within one node nothing else could go meanwhile.
  const std::int64_t each = levels_.has_nodes() ? stretch_of(out, longest, longest) : longest;
  const auto stretch = [&](std::int64_t number) {
    return ReduceStretch{[&, number](int rank) { return piece_of(range_of(rank), number * each, each); }};
  };
  std::vector<StreamRound> rounds;
  add_gather_rounds(rounds, 0, levels_, out, stretch);
  run(ceil_div(longest, each), rounds);
}

void DeviceGroup::broadcast(const Tensor& data, int root) {
  if (data.numel() > 0 && size_ > 1) transport_->broadcast(paced(), data, root);
}

}  // namespace dt::comm
