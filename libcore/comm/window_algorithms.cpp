#include "comm/window_algorithms.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "comm/node_window.hpp"

namespace dt::comm {

namespace {

using Step = NodeWindow::Step;

constexpr std::size_t min_window_bytes = std::size_t{128} << 10;
// Combined and passed on while it is in the first-level cache.
constexpr std::size_t block_bytes = std::size_t{16} << 10;

/// A plan's way through the window, segment by segment. Any order of segments is right; a lower one first is
/// fast.
class Passage {
 public:
  Passage(std::shared_ptr<NodeWindow> window, const Caller& caller, const WindowPlan& plan)
      : window_(std::move(window)), rank_(caller.rank), size_(caller.size), plan_(plan) {
    element_bytes_ = dtype_bytes(plan.in.dtype());
    piece_ = static_cast<std::int64_t>(window_->piece_bytes() / element_bytes_);
    std::int64_t longest = 0;
    for (int rank = 0; rank < size_; ++rank) {
      const Part part = plan.part(rank);
      parts_.push_back(part);
      longest = std::max(longest, part.count);
    }
    num_segments_ = static_cast<std::size_t>((longest + piece_ - 1) / piece_);
    num_left_ = num_segments_;
    first_ = window_->allot(num_segments_);
  }
  ~Passage() {
    if (num_left_ > 0 && window_->state() != NodeWindow::State::absent) window_->break_off();
  }
  Passage(const Passage&) = delete;

  std::size_t num_segments() const { return num_segments_; }

  /// The steps of a segment; false where there is no such step.
  bool add_step(std::size_t number, int index, Stage& stage) {
    if (index == 0) return add(Step::copy, number, stage);
    if (index == 1) return add(reduces() ? Step::reduce : Step::gather, number, stage);
    return index == 2 && plan_.kind == OperationKind::all_reduce && add(Step::gather, number, stage);
  }

 private:
  bool reduces() const { return plan_.kind != OperationKind::all_gather; }
  bool gathers() const { return plan_.kind != OperationKind::reduce_scatter; }

  bool add(Step step, std::size_t number, Stage& stage) {
    stage.ready = [this, step, number] { return window_->may_begin(step, first_ + number, content(number)); };
    stage.then = [this, step, number] {
      if (step == Step::copy) copy(number);
      if (step == Step::reduce) reduce(number);
      if (step == Step::gather) gather(number);
    };
    return true;
  }

  /// Tells segments of different operations, and of different sizes, from each other.
  std::uint64_t content(std::size_t number) const {
    std::uint64_t mixed = number;
    for (const std::uint64_t part :
         {static_cast<std::uint64_t>(plan_.kind), static_cast<std::uint64_t>(plan_.reduction),
          static_cast<std::uint64_t>(plan_.in.dtype()),
          static_cast<std::uint64_t>(parts_.back().begin + parts_.back().count)}) {
      mixed = mixed * 0x9e3779b97f4a7c15U + part;
    }
    return mixed;
  }

  /// Of a rank's part, what lies in a segment.
  Part piece_of(int rank, std::size_t number) const {
    const Part& part = parts_[static_cast<std::size_t>(rank)];
    const std::int64_t begin = std::min(part.count, static_cast<std::int64_t>(number) * piece_);
    return {part.begin + begin, std::min(piece_, part.count - begin)};
  }

  Tensor in_slot(int rank, std::size_t number, int part, std::int64_t count) const {
    return {window_->piece(rank, first_ + number, part), plan_.in.dtype(), {count}};
  }

  /// This rank's own piece, where a buffer holds its part alone.
  Tensor cut_own(const Tensor& tensor, std::size_t number, bool is_part) const {
    const Part piece = piece_of(rank_, number);
    const std::int64_t offset = is_part ? parts_[static_cast<std::size_t>(rank_)].begin : 0;
    return tensor.flat(piece.begin - offset, piece.count);
  }

  int rank_ahead(int distance) const { return (rank_ + distance) % size_; }

  void copy(std::size_t number) {
    if (reduces()) {
      for (int distance = 1; distance < size_; ++distance) {
        const int part = rank_ahead(distance);
        const Part piece = piece_of(part, number);
        convert(plan_.in.flat(piece.begin, piece.count), in_slot(rank_, number, part, piece.count));
      }
    } else {
      const Tensor mine = cut_own(plan_.in, number, true);
      convert(mine, in_slot(rank_, number, rank_, mine.numel()));
      convert(mine, cut_own(plan_.out, number, false));
    }
    window_->describe(first_ + number, content(number));
    window_->finish(reduces() ? Step::copy : Step::reduce, first_ + number);
  }

  void reduce(std::size_t number) {
    const Tensor own = cut_own(plan_.in, number, false);
    const Tensor out = cut_own(plan_.out, number, !gathers());
    const Tensor result = gathers() ? in_slot(rank_, number, rank_, own.numel()) : out;
    const auto block = static_cast<std::int64_t>(block_bytes / element_bytes_);
    std::vector<Tensor> inputs(static_cast<std::size_t>(size_));
    for (std::int64_t begin = 0; begin < own.numel(); begin += block) {
      const std::int64_t count = std::min(block, own.numel() - begin);
      for (int rank = 0; rank < size_; ++rank) {
        const Tensor whole = rank == rank_ ? own : in_slot(rank, number, rank_, own.numel());
        inputs[static_cast<std::size_t>(rank)] = whole.flat(begin, count);
      }
      combine(plan_.reduction, inputs, result.flat(begin, count));
      convert(result.flat(begin, count), out.flat(begin, count));
    }
    window_->finish(gathers() ? Step::reduce : Step::gather, first_ + number);
    if (!gathers()) --num_left_;
  }

  void gather(std::size_t number) {
    for (int distance = 1; distance < size_; ++distance) {
      const int part = rank_ahead(distance);
      const Part piece = piece_of(part, number);
      convert(in_slot(part, number, part, piece.count), plan_.out.flat(piece.begin, piece.count));
    }
    window_->finish(Step::gather, first_ + number);
    --num_left_;
  }

  std::shared_ptr<NodeWindow> window_;
  int rank_;
  int size_;
  WindowPlan plan_;
  std::size_t element_bytes_ = 0;
  std::int64_t piece_ = 0;  // elements
  std::vector<Part> parts_;
  std::size_t num_segments_ = 0;
  std::size_t num_left_ = 0;
  std::uint64_t first_ = 0;
};

/// Two exchanges of everyone with everyone: offers, and whether they could be taken.
class Opening {
 public:
  Opening(std::shared_ptr<NodeWindow> window, const Caller& caller)
      : window_(std::move(window)),
        rank_(caller.rank),
        offers_(static_cast<std::size_t>(caller.size)),
        answers_(static_cast<std::size_t>(caller.size)) {}

  static constexpr int num_stages = 2;

  void add_stage(int index, Stage& stage) {
    if (index == 0) {
      offers_[static_cast<std::size_t>(rank_)] = window_->offer();
      exchange(std::as_writable_bytes(std::span(offers_)), sizeof offers_[0], stage);
      stage.then = [this] { answers_[static_cast<std::size_t>(rank_)] = window_->accept(offers_) ? 1 : 0; };
    } else {
      exchange(std::as_writable_bytes(std::span(answers_)), sizeof answers_[0], stage);
      stage.then = [this] { window_->decide(std::ranges::count(answers_, 1) == std::ssize(answers_)); };
    }
  }

 private:
  void exchange(std::span<std::byte> all, std::size_t bytes, Stage& stage) const {
    const auto of_rank = [&](int rank) { return all.subspan(static_cast<std::size_t>(rank) * bytes, bytes); };
    const int size = static_cast<int>(offers_.size());
    for (int distance = 1; distance < size; ++distance) {
      const int from = (rank_ - distance + size) % size;
      const int to = (rank_ + distance) % size;
      stage.transfers.push_back({from, of_rank(from), false});
      stage.transfers.push_back({to, of_rank(rank_), true});
    }
  }

  std::shared_ptr<NodeWindow> window_;
  int rank_;
  std::vector<NodeWindow::Offer> offers_;
  std::vector<std::uint8_t> answers_;
};

/// A chain that learns first whether there is a window.
class Undecided {
 public:
  Undecided(std::shared_ptr<NodeWindow> window, std::unique_ptr<Opening> opening, std::size_t number,
            std::shared_ptr<Passage> passage, Algorithm messages)
      : window_(std::move(window)),
        opening_(std::move(opening)),
        number_(number),
        passage_(std::move(passage)),
        messages_(std::move(messages)),
        num_first_(opening_ ? Opening::num_stages : 1) {}

  bool operator()(int index, Stage& stage) {
    if (index < num_first_) {
      if (opening_) {
        opening_->add_stage(index, stage);
      } else {
        stage.ready = [this] {
          window_->throw_if_broken();
          return window_->state() != NodeWindow::State::undecided;
        };
      }
      return true;
    }
    if (window_->state() == NodeWindow::State::open) {
      return number_ < passage_->num_segments() && passage_->add_step(number_, index - num_first_, stage);
    }
    if (number_ >= messages_.num_chains) return false;
    if (!by_messages_) by_messages_ = messages_.make_chain(number_);
    return by_messages_(index - num_first_, stage);
  }

 private:
  std::shared_ptr<NodeWindow> window_;
  std::unique_ptr<Opening> opening_;
  std::size_t number_;
  std::shared_ptr<Passage> passage_;
  Algorithm messages_;
  int num_first_;
  Chain by_messages_;
};

Algorithm undecided_algorithm(const Caller& caller, const std::shared_ptr<Passage>& passage,
                              const Algorithm& messages) {
  const auto make_chain = [caller, passage, messages,
                           opens = caller.window->claim_opening()](std::size_t number) -> Chain {
    auto opening = opens && number == 0 ? std::make_unique<Opening>(caller.window, caller) : nullptr;
    return
        [chain = std::make_shared<Undecided>(caller.window, std::move(opening), number, passage, messages)](
            int index, Stage& stage) { return (*chain)(index, stage); };
  };
  return {make_chain, std::max(passage->num_segments(), messages.num_chains), NodeWindow::num_slots};
}

}  // namespace

bool is_for_window(const Caller& caller, std::size_t bytes) {
  return caller.size > 1 && caller.size <= NodeWindow::max_ranks && bytes >= min_window_bytes &&
         caller.window->state() != NodeWindow::State::absent;
}

Algorithm window_algorithm(const Caller& caller, const WindowPlan& plan, const Algorithm& messages) {
  const auto passage = std::make_shared<Passage>(caller.window, caller, plan);
  if (caller.window->state() == NodeWindow::State::undecided) {
    return undecided_algorithm(caller, passage, messages);
  }
  return {[passage](std::size_t number) -> Chain {
            return [=](int index, Stage& stage) { return passage->add_step(number, index, stage); };
          },
          passage->num_segments(), NodeWindow::num_slots};
}

}  // namespace dt::comm
