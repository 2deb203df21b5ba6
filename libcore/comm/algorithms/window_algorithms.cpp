#include "comm/algorithms/window_algorithms.hpp"

#include <algorithm>

#include "base/numeric/integer.hpp"
#include "comm/algorithms/window_steps.hpp"

namespace dt::comm {

namespace {

// Smaller outputs are soon read from the caches.
constexpr std::size_t min_streamed_bytes = std::size_t{8} << 20;

/// Returns whether streamed stores pay: outputs would be evicted from the caches by the end. If
/// outputs are the inputs, their lines are in the caches already. Streamed stores evict these, and
/// take a third longer than others.
bool pays_to_stream(const Collective& collective) {
  return collective.in.raw() != collective.out.raw() && collective.out.bytes() >= min_streamed_bytes;
}

std::int64_t piece_of_window(const Collective& collective, int size) {
  return elements_of(NodeWindow::piece_bytes_of(size), collective.in);
}

std::size_t num_window_segments(const Collective& collective, int size) {
  std::int64_t longest = 0;
  for (int rank = 0; rank < size; ++rank) longest = std::max(longest, collective.part(rank).count);
  return static_cast<std::size_t>(ceil_div(longest, piece_of_window(collective, size)));
}

/// All ranks' pieces of their ranges, one after the other, a segment each. A sequence is a slot, which
/// its segments use one after the other. If the collective reduces and gathers, the next segment
/// refills the slot while the results are gathered from it.
class Passage {
 public:
  Passage(const Caller& caller, const Collective& collective)
      : rank_(caller.rank),
        collective_(collective),
        piece_(piece_of_window(collective, caller.size)),
        num_segments_(num_window_segments(collective, caller.size)),
        run_(caller.locality->window(), num_segments_, collective.reduction, content_of(collective),
             pays_to_stream(collective)) {}

  bool add_step(std::size_t sequence, int index, Round& round) {
    const bool refills = collective_.reduces() && collective_.gathers();
    const int turn = refills ? std::max(0, index - 1) / 2 : index / 2;
    const int step = refills ? index - 2 * turn : index % 2;
    const std::size_t number = sequence + static_cast<std::size_t>(turn) * NodeWindow::num_slots;
    if (number >= num_segments_) return false;
    const std::size_t next = number + NodeWindow::num_slots;
    if (step == 2 && next < num_segments_) {
      run_.add_refill(segment(number), segment(next), round);
    } else {
      run_.add_step(segment(number), step, round);
    }
    return true;
  }

 private:
  Range piece(int rank, std::size_t number) const {
    return piece_of(collective_.part(rank), static_cast<std::int64_t>(number) * piece_, piece_);
  }

  WindowSegment segment(std::size_t number) const {
    WindowSegment segment{.number = number, .dtype = collective_.in.dtype()};
    const Range own = piece(rank_, number);
    if (collective_.reduces()) {
      segment.in = [this, number](int rank) { return flat_view(collective_.in, piece(rank, number)); };
      if (!collective_.gathers()) segment.local = collective_.local_out(own, rank_);
    } else {
      segment.local = collective_.local_in(own, rank_);
    }
    if (collective_.gathers()) {
      segment.out = [this, number](int rank) { return flat_view(collective_.out, piece(rank, number)); };
    }
    return segment;
  }

  int rank_;
  Collective collective_;
  std::int64_t piece_;
  std::size_t num_segments_;
  WindowOperation run_;
};

}  // namespace

std::size_t num_window_sequences(const Collective& collective, int size) {
  return std::min(NodeWindow::num_slots, num_window_segments(collective, size));
}

Algorithm window_algorithm(const Caller& caller, const Collective& collective) {
  const auto passage = std::make_shared<Passage>(caller, collective);
  return {.make_sequence = [passage](std::size_t number) -> RoundSequence {
            return [=](int index, Round& round) { return passage->add_step(number, index, round); };
          },
          .num_sequences = num_window_sequences(collective, caller.size),
          .window = NodeWindow::num_slots};
}

}  // namespace dt::comm
