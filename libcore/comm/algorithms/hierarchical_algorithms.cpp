#include <algorithm>
#include <utility>
#include <vector>

#include "base/numeric/integer.hpp"
#include "comm/algorithms/algorithms.hpp"
#include "comm/algorithms/window_algorithms.hpp"
#include "comm/core/reduction.hpp"

namespace dt::comm {

namespace {

// The number of later sequences of an all-reduce that enter the window before the results of one come
// back to it. Results take long between hosts, so that many more sequences must be able to run
// meanwhile.
constexpr std::size_t lag = 2;

/// The state that the sequences of an operation share. A sequence takes `per_phase` segments of the window
/// when it reduces, and again when it gathers.
struct Hierarchy {
  Caller caller;
  SegmentedCollective collective;
  int num_hosts, per_host, host, local;
  std::int64_t piece;  // elements of a range in a segment of the window
  std::size_t pieces;  // number of pieces of the longest range of a segment
  std::size_t num_sequences;
  std::size_t per_phase;
  WindowOperation run;

  Hierarchy(const Caller& caller, const SegmentedCollective& collective)
      : caller(caller),
        collective(collective),
        num_hosts(caller.locality->placement().num_hosts),
        per_host(caller.locality->placement().per_host),
        host(caller.rank / per_host),
        local(caller.rank % per_host),
        piece(elements_of(caller.locality->window()->piece_bytes(), collective.dtype)),
        pieces(num_pieces()),
        num_sequences(collective.num_segments),
        per_phase(pieces * static_cast<std::size_t>(num_hosts)),
        run(caller.locality->window(), num_sequences * per_phase * num_phases(), collective.reduction,
            content_of(collective), false) {}

  std::size_t num_phases() const { return collective.reduces() && collective.gathers() ? 2 : 1; }

  /// Returns the number of pieces of the first segment, which no other exceeds.
  std::size_t num_pieces() const {
    const RangeOf range_of = collective.segment(0);
    std::int64_t longest = 0;
    for (int rank = 0; rank < caller.size; ++rank) longest = std::max(longest, range_of(rank).count);
    return static_cast<std::size_t>(ceil_div(longest, piece));
  }

  /// Returns where in the window's order the segments of a sequence's phase begin. With two phases the
  /// order is R0 R1 R2 G0 R3 G1 ...
  std::size_t first_of_reduce(std::size_t sequence) const {
    const std::size_t gathers_before = num_phases() == 2 && sequence > lag ? sequence - lag : 0;
    return (sequence + gathers_before) * per_phase;
  }
  std::size_t first_of_gather(std::size_t sequence) const {
    const std::size_t reduces_before = num_phases() == 2 ? std::min(num_sequences, sequence + lag + 1) : 0;
    return (sequence + reduces_before) * per_phase;
  }
  int rank_of(int h, int l) const { return h * per_host + l; }
};

class HierarchicalSequence {
 public:
  HierarchicalSequence(std::shared_ptr<Hierarchy> hierarchy, std::size_t number)
      : h_(std::move(hierarchy)), number_(number), range_of_(h_->collective.segment(number)) {}

  bool operator()(int index, Round& round) {
    const int steps = 2 * static_cast<int>(h_->per_phase);
    if (h_->collective.reduces()) {
      if (index == 0) take_partials();
      if (index < steps) return add_window_step(index, round, true);
      if (index == steps) return exchange_partials(round);
      index -= steps + 1;
    }
    if (!h_->collective.gathers() || index > steps) return false;
    return index == 0 ? exchange_results(round) : add_window_step(index - 1, round, false);
  }

 private:
  Range own() const { return range_of_(h_->caller.rank); }

  /// Takes memory for this rank's sums over its host's ranks, one for the rank `local` of each
  /// host. Also takes memory for the sums that those ranks send: 2H in all, of which one is both.
  void take_partials() {
    const DType dtype = accumulator_dtype(h_->collective.dtype);
    std::int64_t longest = 0;
    for (int host = 0; host < h_->num_hosts; ++host)
      longest = std::max(longest, range_of_(h_->rank_of(host, h_->local)).count);
    const std::size_t stride = round_up(static_cast<std::size_t>(longest) * dtype_bytes(dtype), line_bytes);
    const auto num_hosts = static_cast<std::size_t>(h_->num_hosts);
    block_ = h_->caller.staging->acquire((2 * num_hosts - 1) * stride);
    std::size_t begin = 0;
    const auto next = [&](std::int64_t count) {
      return Tensor(*block_, dtype, Shape{count}, std::exchange(begin, begin + stride));
    };
    for (int host = 0; host < h_->num_hosts; ++host) {
      partials_.push_back(next(range_of_(h_->rank_of(host, h_->local)).count));
    }
    for (int host = 0; host < h_->num_hosts; ++host) {
      received_.push_back(host == h_->host ? partials_[static_cast<std::size_t>(host)] : next(own().count));
    }
  }

  /// Adds a step of a segment. A segment's two steps are rounds of their own. The copy of segment i + 1
  /// comes before the second step of i, so that neighbours seldom wait for each other: c0, c1, r0, c2,
  /// r1, ...
  bool add_window_step(int index, Round& round, bool reduces) {
    const int last = 2 * static_cast<int>(h_->per_phase) - 1;
    const bool copies = index == 0 || (index % 2 == 1 && index < last);
    const int at = copies ? (index + 1) / 2 : index == last ? last / 2 : index / 2 - 1;
    h_->run.add_step(segment(static_cast<std::size_t>(at), reduces), copies ? 0 : 1, round);
    return true;
  }

  /// Returns the segment that has one piece of the range of each rank of one host.
  WindowSegment segment(std::size_t at, bool reduces) const {
    const int host = static_cast<int>(at / h_->pieces);
    const std::int64_t begin = static_cast<std::int64_t>(at % h_->pieces) * h_->piece;
    const auto piece = [this, host, begin](int local) {
      return piece_of(range_of_(h_->rank_of(host, local)), begin, h_->piece);
    };
    const Range mine = piece(h_->local);
    WindowSegment segment{
        .number = (reduces ? h_->first_of_reduce(number_) : h_->first_of_gather(number_)) + at,
        .dtype = h_->collective.dtype};
    if (reduces) {
      segment.in = [this, piece](int local) { return flat_view(h_->collective.in, piece(local)); };
      segment.local = partials_[static_cast<std::size_t>(host)].flat(
          std::min(begin, partials_[static_cast<std::size_t>(host)].numel()), mine.count);
    } else {
      segment.local = flat_view(h_->collective.out, mine);
      segment.out = [this, piece](int local) { return flat_view(h_->collective.out, piece(local)); };
    }
    return segment;
  }

  /// Exchanges with the ranks of the same `local` on all other hosts, the next host first.
  template <class Receive, class Send>
  void exchange(Round& round, const Receive& receive, const Send& send) const {
    for (int distance = 1; distance < h_->num_hosts; ++distance) {
      const int from = (h_->host - distance + h_->num_hosts) % h_->num_hosts;
      add_transfer(round, h_->rank_of(from, h_->local), receive(from), false);
    }
    for (int distance = 1; distance < h_->num_hosts; ++distance) {
      const int to = (h_->host + distance) % h_->num_hosts;
      add_transfer(round, h_->rank_of(to, h_->local), send(to), true);
    }
  }

  bool exchange_partials(Round& round) const {
    exchange(
        round, [this](int host) { return received_[static_cast<std::size_t>(host)]; },
        [this](int host) { return partials_[static_cast<std::size_t>(host)]; });
    round.then = [this] {
      const Tensor& sum = received_[static_cast<std::size_t>(h_->host)];
      combine(h_->collective.reduction, received_, sum);
      cast(sum, h_->collective.local_out(own(), h_->caller.rank));
    };
    return true;
  }

  bool exchange_results(Round& round) const {
    const Tensor out = flat_view(h_->collective.out, own());
    const Tensor mine = h_->collective.reduces() ? out : h_->collective.local_in(own(), h_->caller.rank);
    exchange(
        round,
        [this](int host) { return flat_view(h_->collective.out, range_of_(h_->rank_of(host, h_->local))); },
        [mine](int) { return mine; });
    round.then = [mine, out] { cast(mine, out); };
    return true;
  }

  std::shared_ptr<Hierarchy> h_;
  std::size_t number_;
  RangeOf range_of_;
  StagingPool::Block block_;
  std::vector<Tensor> partials_;  // this host's sums, for each host
  std::vector<Tensor> received_;  // each host's sums, for this rank
};

}  // namespace

bool is_hierarchical_faster(const SegmentedCollective& collective, const Placement& placement) {
  return !collective.reduces() || is_hierarchical_sum_faster(collective.dtype, placement);
}

Algorithm hierarchical_algorithm(const Caller& caller, const SegmentedCollective& collective,
                                 const Algorithm& messages) {
  const auto hierarchy = std::make_shared<Hierarchy>(caller, collective);
  Algorithm algorithm = messages;
  algorithm.make_sequence = [hierarchy](std::size_t number) -> RoundSequence {
    return [sequence = std::make_shared<HierarchicalSequence>(hierarchy, number)](int index, Round& round) {
      return (*sequence)(index, round);
    };
  };
  return algorithm;
}

}  // namespace dt::comm
