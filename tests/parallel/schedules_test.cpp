#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <tuple>

#include "parallel/schedule/pipeline_schedule.hpp"

using namespace dt::parallel;

namespace {

/// The durations of a forward, and of both halves of a backward, of one virtual stage.
using Seconds = std::array<double, 3>;

/// Runs every rank's order as early as its data allow. A backward that is not split counts as one
/// computation. Returns the bubble, relative to the time that a rank computes. Returns a negative
/// number if a computation is missing or ranks wait for each other forever. Fails if a computation
/// is done twice or on another rank.
double bubble(const PipelineSchedule& schedule, const Seconds& seconds) {
  std::map<std::tuple<ActionKind, int, int>, double> ends;
  std::vector<std::size_t> next(schedule.orders.size());
  std::vector<double> clock(schedule.orders.size());
  const auto end_of = [&](ActionKind kind, int stage, int m) {
    const auto found = ends.find({kind, stage, m});
    return found == ends.end() ? -1 : found->second;
  };
  const auto try_next = [&](std::size_t rank) {
    using enum ActionKind;
    if (next[rank] == schedule.orders[rank].size()) return false;
    const auto [kind, stage, m] = schedule.orders[rank][next[rank]];
    REQUIRE(schedule.rank_of[static_cast<std::size_t>(stage)] == static_cast<int>(rank));
    double ready = 0;
    if (kind == forward && stage > 0) ready = end_of(forward, stage - 1, m);
    if (kind == backward_input && stage + 1 < schedule.num_stages())
      ready = std::min(end_of(backward_input, stage + 1, m), end_of(forward, stage, m)) < 0
                  ? -1
                  : end_of(backward_input, stage + 1, m);
    else if (kind == backward_input)
      ready = end_of(forward, stage, m);
    if (kind == backward_weight) {
      REQUIRE((m == 0 || end_of(kind, stage, m - 1) >= 0));
      REQUIRE(end_of(backward_input, stage, m) >= 0);
    }
    if (ready < 0) return false;
    clock[rank] = std::max(clock[rank], ready) + seconds[static_cast<std::size_t>(kind)];
    const bool is_half = kind == backward_input && !schedule.splits_backward;
    REQUIRE(ends.emplace(std::tuple(kind, stage, m), clock[rank] + (is_half ? seconds[2] : 0)).second);
    ++next[rank];
    return true;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t rank = 0; rank < next.size(); ++rank) {
      while (try_next(rank)) moved = true;
    }
  }
  const auto stages = static_cast<std::size_t>(schedule.num_stages());
  const auto micro_batches = static_cast<std::size_t>(schedule.num_micro_batches);
  if (ends.size() != 3 * stages * micro_batches) return -1;
  const double computing = (seconds[0] + seconds[1] + seconds[2]) * static_cast<double>(micro_batches) *
                           static_cast<double>(stages / next.size());
  return *std::max_element(clock.begin(), clock.end()) / computing - 1;
}

/// Returns the most (virtual stage, micro-batch) pairs that a rank holds, from their forward to
/// their weight half.
int most_held(const ComputationOrder& order) {
  int held = 0, most = 0;
  for (const Computation& c : order) {
    if (c.kind == ActionKind::forward) most = std::max(most, ++held);
    if (c.kind == ActionKind::backward_weight) --held;
  }
  return most;
}

int most_held(const PipelineSchedule& schedule) {
  int most = 0;
  for (const ComputationOrder& order : schedule.orders) most = std::max(most, most_held(order));
  return most;
}

constexpr Seconds equal{1, 1, 1};

}  // namespace

TEST_CASE("every schedule does each computation once, and no rank waits in vain") {
  for (const int ranks : {1, 2, 3, 4, 7, 8, 16}) {
    for (const int micro_batches : {1, 2, 3, 4, 8, 15, 16, 17, 33, 64}) {
      INFO(ranks << " ranks, " << micro_batches << " micro-batches");
      CHECK(bubble(gpipe(ranks, micro_batches), equal) >= 0);
      CHECK(bubble(one_f_one_b(ranks, micro_batches), equal) >= 0);
      for (const int v : {1, 2, 3, 4}) CHECK(bubble(interleaved(ranks, v, micro_batches), equal) >= 0);
      CHECK(bubble(zero_bubble_h1(ranks, micro_batches), equal) >= 0);
      CHECK(bubble(v_shaped(ranks, micro_batches), equal) >= 0);
    }
  }
  CHECK(bubble(one_f_one_b(1, 5), equal) == 0);
}

TEST_CASE("bubbles are what the papers say") {
  for (const int ranks : {2, 3, 4, 8, 16}) {
    for (const int micro_batches : {ranks, 2 * ranks, 3 * ranks, 4 * ranks}) {
      const double flushed = (ranks - 1.0) / micro_batches;
      INFO(ranks << " ranks, " << micro_batches << " micro-batches");
      for (const Seconds& seconds : {Seconds{1, 1, 1}, Seconds{2, 3, 1}}) {
        CHECK(bubble(gpipe(ranks, micro_batches), seconds) == Approx(flushed));
        CHECK(bubble(one_f_one_b(ranks, micro_batches), seconds) == Approx(flushed));
        for (const int v : {2, 3, 4})
          CHECK(bubble(interleaved(ranks, v, micro_batches), seconds) == Approx(flushed / v));
      }
      CHECK(bubble(zero_bubble_h1(ranks, micro_batches), equal) == Approx(flushed / 3));
      if (micro_batches >= 2 * ranks)
        CHECK(bubble(v_shaped(ranks, micro_batches), equal) == Approx(flushed / 6));
    }
  }
}

TEST_CASE("zero-bubble schedules have no more bubble than 1F1B whatever the number of micro-batches") {
  for (const int ranks : {2, 3, 4, 5, 7, 8, 16}) {
    for (const int micro_batches : {1, 2, 3, 5, 8, 13, 21, 34, 64}) {
      INFO(ranks << " ranks, " << micro_batches << " micro-batches");
      const double plain = bubble(one_f_one_b(ranks, micro_batches), equal);
      CHECK(bubble(zero_bubble_h1(ranks, micro_batches), equal) <=
            plain * (micro_batches >= ranks ? 0.4 : 1));
      CHECK(bubble(v_shaped(ranks, micro_batches), equal) <= plain * (micro_batches >= 2 * ranks ? 0.18 : 1));
    }
  }
}

TEST_CASE("1F1B holds no more micro-batches than there are ranks, zero-bubble schedules no more memory") {
  for (const int ranks : {1, 2, 3, 4, 8, 16}) {
    for (const int micro_batches : {1, 5, 16, 64}) {
      INFO(ranks << " ranks, " << micro_batches << " micro-batches");
      const PipelineSchedule schedule = one_f_one_b(ranks, micro_batches);
      for (int rank = 0; rank < ranks; ++rank)
        CHECK(most_held(schedule.orders[static_cast<std::size_t>(rank)]) ==
              std::min(ranks - rank, micro_batches));
      CHECK(most_held(zero_bubble_h1(ranks, micro_batches)) <= most_held(schedule));
      CHECK(most_held(v_shaped(ranks, micro_batches)) <= 2 * ranks);
      CHECK(most_held(gpipe(ranks, micro_batches)) == micro_batches);
    }
  }
}

TEST_CASE("the V-shaped schedule has both ends of the model on the first rank") {
  const PipelineSchedule schedule = v_shaped(3, 4);
  CHECK(schedule.rank_of == std::vector{0, 1, 2, 2, 1, 0});
}

TEST_CASE("forwards alone keep their order") {
  const PipelineSchedule schedule = forward_only(interleaved(2, 2, 3));
  CHECK(schedule.orders[1] == ComputationOrder{{ActionKind::forward, 1, 0},
                                               {ActionKind::forward, 1, 1},
                                               {ActionKind::forward, 3, 0},
                                               {ActionKind::forward, 3, 1},
                                               {ActionKind::forward, 1, 2},
                                               {ActionKind::forward, 3, 2}});
}
