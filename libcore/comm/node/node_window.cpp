#include "comm/node/node_window.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"

namespace dt::comm {

namespace {

// The bytes of all ranges of a segment together. They are so many that ranks' waits for each other
// cost little. They are so few that a rank's slots, which are used in turn, stay in its
// second-level cache.
constexpr std::size_t segment_bytes = std::size_t{256} << 10;
constexpr std::size_t line_bytes = 64;
constexpr std::size_t page_bytes = 4096;
constexpr std::uint64_t num_steps = 3;

/// Returns the number of a step, counted through all segments of a slot.
std::uint64_t step_number(NodeWindow::Step step, std::uint64_t segment) {
  return num_steps * (segment / NodeWindow::num_slots) + static_cast<std::uint64_t>(step);
}

}  // namespace

struct alignas(line_bytes) NodeWindow::Flag {
  std::uint64_t steps_done;
  std::uint64_t content;
};

std::size_t NodeWindow::piece_bytes_of(int size) {
  return std::max(line_bytes, segment_bytes / static_cast<std::size_t>(size) / line_bytes * line_bytes);
}

NodeWindow::NodeWindow(int rank, int size, std::function<void()> notify)
    : rank_(rank),
      size_(size),
      piece_bytes_(piece_bytes_of(size)),
      flags_bytes_(round_up(static_cast<std::size_t>(size) * num_slots * sizeof(Flag), page_bytes)),
      memory_(flags_bytes_ + static_cast<std::size_t>(size * size) * num_slots * piece_bytes_),
      notify_(std::move(notify)) {}

std::uint64_t NodeWindow::allot(std::size_t num_segments) {
  return std::exchange(next_segment_, next_segment_ + num_segments);
}

NodeWindow::Flag& NodeWindow::flag(int rank, std::uint64_t segment) const {
  const auto place =
      (segment % num_slots) * static_cast<std::uint64_t>(size_) + static_cast<std::uint64_t>(rank);
  return reinterpret_cast<Flag*>(memory_.data())[place];
}

void throw_cancelled() {
  throw Error(ErrorKind::environment, "this rank has stopped communicating",
              "a large operation of the group was cancelled before it completed");
}

void NodeWindow::throw_if_broken() const {
  if (is_broken_) throw_cancelled();
}

bool NodeWindow::may_begin(Step step, std::uint64_t segment) const {
  throw_if_broken();
  const std::uint64_t due = step_number(step, segment);
  return own_steps_done_[segment % num_slots] >= due && have_all_done(segment, due);
}

bool NodeWindow::have_all_done(std::uint64_t segment, std::uint64_t steps) const {
  for (int rank = 0; rank < size_; ++rank) {
    if (std::atomic_ref(flag(rank, segment).steps_done).load() < steps) return false;
  }
  return true;
}

void NodeWindow::describe(std::uint64_t segment, std::uint64_t content) {
  flag(rank_, segment).content = content;
}

void NodeWindow::check_content(std::uint64_t segment, std::uint64_t content) const {
  for (int rank = 0; rank < size_; ++rank) {
    DT_CHECK(flag(rank, segment).content == content,
             "rank {} of a group calls another operation than rank {}", rank, rank_);
  }
}

/// Publishes what this rank has done, and wakes the others if it is the last to do so. Loads and stores of
/// the flags have one order for all ranks. So of ranks that publish at once, at least one sees that all have.
void NodeWindow::publish(std::uint64_t segment, std::uint64_t steps) {
  const std::atomic_ref told(flag(rank_, segment).steps_done);
  const std::uint64_t before = told.load(std::memory_order_relaxed);
  if (before >= steps) return;
  told.store(steps);
  if (notify_ && have_all_done(segment, before + 1)) notify_();
}

void NodeWindow::finish(Step step, std::uint64_t segment) {
  own_steps_done_[segment % num_slots] = step_number(step, segment) + 1;
  publish(segment, step_number(step, segment) + 1);
}

void NodeWindow::leave(std::uint64_t segment) {
  publish(segment, step_number(Step::gather, segment) + 1);
}

std::byte* NodeWindow::piece(int rank, std::uint64_t segment, int owner) const {
  const auto n = static_cast<std::size_t>(size_);
  const std::size_t slot = static_cast<std::size_t>(rank) * num_slots + segment % num_slots;
  return memory_.data() + flags_bytes_ + (slot * n + static_cast<std::size_t>(owner)) * piece_bytes_;
}

}  // namespace dt::comm
