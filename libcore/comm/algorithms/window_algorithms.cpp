#include "comm/algorithms/window_algorithms.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/numeric/integer.hpp"
#include "comm/core/reduction.hpp"
#include "comm/core/stream_copy.hpp"

namespace dt::comm {

namespace {

/// Mixes several numbers into one.
std::uint64_t mix(std::initializer_list<std::uint64_t> numbers) {
  std::uint64_t mixed = 0;
  for (const std::uint64_t number : numbers) mixed = mixed * 0x9e3779b97f4a7c15U + number;
  return mixed;
}

// Smaller outputs are soon read from the caches.
constexpr std::size_t min_streamed_bytes = std::size_t{8} << 20;

/// Returns whether streamed stores pay: outputs would be evicted from the caches by the end. If
/// outputs are the inputs, their lines are in the caches already. Streamed stores evict these, and
/// take a third longer than others.
bool pays_to_stream(const SegmentedCollective& collective) {
  return collective.in.raw() != collective.out.raw() && collective.out.bytes() >= min_streamed_bytes;
}

std::int64_t piece_of_window(const SegmentedCollective& collective, int size) {
  return elements_of(NodeWindow::piece_bytes_of(size), collective.dtype);
}

std::size_t num_window_segments(const SegmentedCollective& collective, int size) {
  std::int64_t longest = 0;
  for (int rank = 0; rank < size; ++rank) longest = std::max(longest, collective.part(rank).count);
  return static_cast<std::size_t>(ceil_div(longest, piece_of_window(collective, size)));
}

/// All ranks' pieces of their ranges, one after the other, a segment each. A sequence is a slot, which
/// its segments use one after the other. If the collective reduces and gathers, the next segment
/// refills the slot while the results are gathered from it.
class Passage {
 public:
  Passage(const Caller& caller, const SegmentedCollective& collective)
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
    WindowSegment segment{.number = number, .dtype = collective_.dtype};
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
  SegmentedCollective collective_;
  std::int64_t piece_;
  std::size_t num_segments_;
  WindowOperation run_;
};

}  // namespace

std::uint64_t content_of(const SegmentedCollective& collective) {
  return mix({static_cast<std::uint64_t>(collective.kind), static_cast<std::uint64_t>(collective.reduction),
              static_cast<std::uint64_t>(collective.dtype), static_cast<std::uint64_t>(collective.numel)});
}

WindowOperation::WindowOperation(std::shared_ptr<NodeWindow> window, std::size_t num_segments,
                                 Reduction reduction, std::uint64_t content, bool streams)
    : window_(std::move(window)),
      reduction_(reduction),
      content_(content),
      streams_(streams),
      first_(window_->allot(num_segments)),
      num_left_(num_segments) {}

WindowOperation::~WindowOperation() {
  if (num_left_ > 0) window_->cancel();
}

/// Returns a number that tells segments of different operations, and of different sizes, from each
/// other.
std::uint64_t WindowOperation::content(const WindowSegment& segment) const {
  return mix({content_, segment.number});
}

std::function<bool()> WindowOperation::may_begin(Step step, const WindowSegment& segment,
                                                 bool is_second) const {
  return [this, step, is_second, number = first_ + segment.number, content = content(segment)] {
    if (!window_->may_begin(step, number)) return false;
    if (is_second) window_->check_content(number, content);
    return true;
  };
}

void WindowOperation::add_step(const WindowSegment& segment, int index, Round& round) {
  const Step step = index == 0 ? Step::copy : index == 1 && segment.reduces() ? Step::reduce : Step::gather;
  round.ready = may_begin(step, segment, index == 1);
  round.then = [this, step, segment] {
    if (step == Step::copy) copy(segment);
    if (step == Step::reduce) reduce(segment);
    if (step == Step::gather) gather(segment);
  };
}

void WindowOperation::add_refill(const WindowSegment& segment, const WindowSegment& next, Round& round) {
  round.ready = may_begin(Step::gather, segment, false);
  round.then = [this, segment, next] { refill(segment, next); };
}

Tensor WindowOperation::in_slot(const WindowSegment& segment, int rank, int owner, std::int64_t count) const {
  return {window_->piece(rank, first_ + segment.number, owner), segment.dtype, {count}, Device::host()};
}

/// Chooses the stores. Streamed ones must begin at cache lines.
StoreKind WindowOperation::stores_to(const Tensor& out) const {
  const bool at_line = reinterpret_cast<std::uintptr_t>(out.raw()) % line_bytes == 0;
  return streams_ && at_line ? StoreKind::streamed : StoreKind::cached;
}

/// Takes other ranks in the order of their distance, so that ranks do not all begin with the same one.
void WindowOperation::copy(const WindowSegment& segment) {
  const int rank = window_->rank();
  if (segment.reduces()) {
    for (int distance = 1; distance < window_->size(); ++distance) {
      const int owner = (rank + distance) % window_->size();
      const Tensor in = segment.in(owner);
      comm::copy(in.span_bytes(), in_slot(segment, rank, owner, in.numel()).span_bytes(), Source::memory,
                 StoreKind::cached);
    }
  } else {
    const Tensor& mine = segment.local;
    const Tensor slot = in_slot(segment, rank, rank, mine.numel());
    comm::copy(mine.span_bytes(), slot.span_bytes(), Source::memory, StoreKind::cached);
    if (const Tensor out = segment.out(rank); out.raw() != mine.raw()) {
      comm::copy(slot.span_bytes(), out.span_bytes(), Source::memory, stores_to(out));
    }
  }
  window_->describe(first_ + segment.number, content(segment));
  finish(segment.reduces() ? Step::copy : Step::reduce, segment);
}

void WindowOperation::reduce(const WindowSegment& segment) {
  const int own_rank = window_->rank();
  const Tensor own = segment.in(own_rank);
  std::vector<Tensor> inputs;
  for (int rank = 0; rank < window_->size(); ++rank) {
    inputs.push_back(rank == own_rank ? own : in_slot(segment, rank, own_rank, own.numel()));
  }
  if (!segment.gathers()) {
    combine(reduction_, inputs, segment.local);
    return finish(Step::gather, segment);
  }
  const Tensor out = segment.out(own_rank);
  combine_in_slots(reduction_, inputs, static_cast<std::size_t>(own_rank), out, stores_to(out));
  window_->leave(first_ + segment.number);
  finish(Step::reduce, segment);
}

void WindowOperation::gather(const WindowSegment& segment) {
  const int rank = window_->rank();
  for (int distance = 1; distance < window_->size(); ++distance) {
    const int owner = (rank + distance) % window_->size();
    const Tensor out = segment.out(owner);
    const Tensor slot = in_slot(segment, segment.reduces() ? rank : owner, owner, out.numel());
    comm::copy(slot.span_bytes(), out.span_bytes(),
               segment.reduces() ? Source::handed_over : Source::other_core, stores_to(out));
  }
  finish(Step::gather, segment);
}

void WindowOperation::refill(const WindowSegment& segment, const WindowSegment& next) {
  const int rank = window_->rank();
  for (int distance = 1; distance < window_->size(); ++distance) {
    const int owner = (rank + distance) % window_->size();
    const Tensor out = segment.out(owner), in = next.in(owner);
    const Tensor slot = in_slot(segment, rank, owner, std::max(out.numel(), in.numel()));
    comm::refill(slot.span_bytes(), out.span_bytes(), in.span_bytes(), stores_to(out));
  }
  finish(Step::gather, segment);
  window_->describe(first_ + next.number, content(next));
  finish(Step::copy, next);
}

/// Announces that a step is done. After the last step the slot is free for another segment.
void WindowOperation::finish(Step step, const WindowSegment& segment) {
  window_->finish(step, first_ + segment.number);
  if (step == Step::gather) --num_left_;
}

std::size_t num_window_sequences(const SegmentedCollective& collective, int size) {
  return std::min(NodeWindow::num_slots, num_window_segments(collective, size));
}

Algorithm window_algorithm(const Caller& caller, const SegmentedCollective& collective) {
  const auto passage = std::make_shared<Passage>(caller, collective);
  return {.make_sequence = [passage](std::size_t number) -> RoundSequence {
            return [=](int index, Round& round) { return passage->add_step(number, index, round); };
          },
          .num_sequences = num_window_sequences(collective, caller.size),
          .window = NodeWindow::num_slots};
}

}  // namespace dt::comm
