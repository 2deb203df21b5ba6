#include "comm/window_steps.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "comm/stream_copy.hpp"

namespace dt::comm {

namespace {

// Combined and passed on while it is in the first-level cache.
constexpr std::size_t block_bytes = std::size_t{16} << 10;

/// One number of several.
std::uint64_t mix(std::initializer_list<std::uint64_t> numbers) {
  std::uint64_t mixed = 0;
  for (const std::uint64_t number : numbers) mixed = mixed * 0x9e3779b97f4a7c15U + number;
  return mixed;
}

}  // namespace

std::uint64_t content_of(const Collective& collective) {
  return mix({static_cast<std::uint64_t>(collective.kind), static_cast<std::uint64_t>(collective.reduction),
              static_cast<std::uint64_t>(collective.in.dtype()),
              static_cast<std::uint64_t>(collective.numel())});
}

WindowRun::WindowRun(std::shared_ptr<NodeWindow> window, std::size_t num_segments, Reduction reduction,
                     std::uint64_t content, bool streams)
    : window_(std::move(window)),
      reduction_(reduction),
      content_(content),
      streams_(streams),
      first_(window_->allot(num_segments)),
      num_left_(num_segments) {}

WindowRun::~WindowRun() {
  if (num_left_ > 0) window_->break_off();
}

/// Tells segments of different operations, and of different sizes, from each other.
std::uint64_t WindowRun::content(const WindowSegment& segment) const {
  return mix({content_, segment.number});
}

void WindowRun::add_step(const WindowSegment& segment, int index, Stage& stage) {
  const Step step = index == 0 ? Step::copy : index == 1 && segment.reduces() ? Step::reduce : Step::gather;
  stage.ready = [this, step, number = first_ + segment.number, content = content(segment)] {
    return window_->may_begin(step, number, content);
  };
  stage.then = [this, step, segment] {
    if (step == Step::copy) copy(segment);
    if (step == Step::reduce) reduce(segment);
    if (step == Step::gather) gather(segment);
  };
}

Tensor WindowRun::in_slot(const WindowSegment& segment, int rank, int part, std::int64_t count) const {
  return {window_->piece(rank, first_ + segment.number, part), segment.dtype, {count}};
}

void WindowRun::store(const Tensor& from, const Tensor& to) const {
  if (streams_) {
    stream_copy(to.span_bytes(), from.span_bytes());
  } else {
    convert(from, to);
  }
}

/// Other ranks are taken in the order of their distance, so that no rank is everyone's first.
void WindowRun::copy(const WindowSegment& segment) {
  const int rank = window_->rank();
  if (segment.reduces()) {
    for (int distance = 1; distance < window_->size(); ++distance) {
      const int part = (rank + distance) % window_->size();
      const Tensor data = segment.in(part);
      convert(data, in_slot(segment, rank, part, data.numel()));
    }
  } else {
    convert(segment.mine, in_slot(segment, rank, rank, segment.mine.numel()));
    if (const Tensor out = segment.out(rank); out.raw() != segment.mine.raw()) store(segment.mine, out);
  }
  window_->describe(first_ + segment.number, content(segment));
  finish(segment.reduces() ? Step::copy : Step::reduce, segment);
}

void WindowRun::reduce(const WindowSegment& segment) {
  const int own_rank = window_->rank();
  const Tensor own = segment.in(own_rank);
  const Tensor result = segment.gathers() ? in_slot(segment, own_rank, own_rank, own.numel()) : segment.mine;
  const Tensor out = segment.gathers() ? segment.out(own_rank) : Tensor();
  const auto block = static_cast<std::int64_t>(block_bytes / dtype_bytes(segment.dtype));
  std::vector<Tensor> inputs(static_cast<std::size_t>(window_->size()));
  for (std::int64_t begin = 0; begin < own.numel(); begin += block) {
    const std::int64_t count = std::min(block, own.numel() - begin);
    for (int rank = 0; rank < window_->size(); ++rank) {
      const Tensor whole = rank == own_rank ? own : in_slot(segment, rank, own_rank, own.numel());
      inputs[static_cast<std::size_t>(rank)] = whole.flat(begin, count);
    }
    combine(reduction_, inputs, result.flat(begin, count));
    if (out) store(result.flat(begin, count), out.flat(begin, count));
  }
  finish(segment.gathers() ? Step::reduce : Step::gather, segment);
}

void WindowRun::gather(const WindowSegment& segment) {
  for (int distance = 1; distance < window_->size(); ++distance) {
    const int part = (window_->rank() + distance) % window_->size();
    const Tensor out = segment.out(part);
    store(in_slot(segment, part, part, out.numel()), out);
  }
  finish(Step::gather, segment);
}

/// The last step done: the slot is free for another segment.
void WindowRun::finish(Step step, const WindowSegment& segment) {
  window_->finish(step, first_ + segment.number);
  if (step == Step::gather) --num_left_;
}

}  // namespace dt::comm
