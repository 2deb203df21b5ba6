#include "comm/algorithms/gather_by_doubling.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace dt::comm {

GatherByDoubling::GatherByDoubling(int rank, const RankRun& run, const Tensor& all, RangeOf range_of)
    : own_(rank - run.first), run_(run), all_(all), range_of_(std::move(range_of)) {}

int GatherByDoubling::num_rounds() const {
  return std::bit_width(static_cast<unsigned>(run_.count) - 1);
}

void GatherByDoubling::add_round(int index, Round& round) const {
  const int held = 1 << index;  // ranges that this rank has
  if (std::has_single_bit(static_cast<unsigned>(run_.count))) return add_power_of_two(held, round);
  add_any(held, round);
}

void GatherByDoubling::add_power_of_two(int held, Round& round) const {
  const int peer = own_ ^ held;
  add(peer, peer & -held, held, false, round);
  add(peer, own_ & -held, held, true, round);
}

void GatherByDoubling::add_any(int held, Round& round) const {
  const int n = run_.count, count = std::min(held, n - held);
  const int from = (own_ + held) % n, to = (own_ - held + n) % n;
  add(from, from, count, false, round);
  add(to, own_, count, true, round);
}

/// Adds the transfer of the ranges of `count` ranks from `first` on. The ranges of the run's first ranks
/// follow those of its last ones.
void GatherByDoubling::add(int peer, int first, int count, bool is_send, Round& round) const {
  const auto add_between = [&](int begin, int end) {
    if (begin == end) return;
    const Range front = range_of_(begin), back = range_of_(end - 1);
    add_transfer(round, run_.first + peer,
                 flat_view(all_, {front.begin, back.begin + back.count - front.begin}), is_send);
  };
  const int end = std::min(first + count, run_.count);
  add_between(first, end);
  add_between(0, first + count - end);
}

}  // namespace dt::comm
