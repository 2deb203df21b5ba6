#include "parallel/schedule/pipeline_schedule.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"

namespace dt::parallel {

ComputationOrder one_f_one_b_order(std::span<const StageMicroBatch> forwards,
                                   std::span<const StageMicroBatch> backwards, std::size_t warm_up) {
  ComputationOrder order;
  std::size_t next = 0;
  const auto add_forward = [&] {
    if (next == forwards.size()) return;
    order.push_back({ActionKind::forward, forwards[next].stage, forwards[next].micro_batch});
    ++next;
  };
  while (next < std::min(warm_up, forwards.size())) add_forward();
  for (const StageMicroBatch& turn : backwards) {
    add_forward();
    order.push_back({ActionKind::backward_input, turn.stage, turn.micro_batch});
    order.push_back({ActionKind::backward_weight, turn.stage, turn.micro_batch});
  }
  return order;
}

PipelineSchedule forward_only(PipelineSchedule schedule) {
  for (ComputationOrder& order : schedule.orders)
    std::erase_if(order, [](const Computation& c) { return c.kind != ActionKind::forward; });
  return schedule;
}

namespace {

/// Makes schedules of one virtual stage a rank whose weight halves follow at once. They differ in how
/// many forwards come before the first backward.
template <class WarmUp>
PipelineSchedule with_warm_up(int num_ranks, int num_micro_batches, const WarmUp& warm_up) {
  DT_CHECK(num_ranks > 0 && num_micro_batches > 0, "a schedule of {} ranks, {} micro-batches", num_ranks,
           num_micro_batches);
  PipelineSchedule schedule{.num_micro_batches = num_micro_batches,
                            .rank_of = std::vector<int>(static_cast<std::size_t>(num_ranks))};
  std::iota(schedule.rank_of.begin(), schedule.rank_of.end(), 0);
  for (int rank = 0; rank < num_ranks; ++rank) {
    std::vector<StageMicroBatch> turns;
    for (int m = 0; m < num_micro_batches; ++m) turns.push_back({rank, m});
    schedule.orders.push_back(one_f_one_b_order(turns, turns, static_cast<std::size_t>(warm_up(rank))));
  }
  return schedule;
}

/// Returns a rank's turns. Groups of P micro-batches go through all virtual stages of the rank, one
/// stage after the other.
std::vector<StageMicroBatch> turns_of(int rank, int num_ranks, int virtual_stages, int num_micro_batches,
                                      bool backward) {
  std::vector<StageMicroBatch> turns;
  for (int first = 0; first < num_micro_batches; first += num_ranks) {
    for (int i = 0; i < virtual_stages; ++i) {
      const int chunk = backward ? virtual_stages - 1 - i : i;
      for (int m = first; m < first + num_ranks; ++m) turns.push_back({chunk * num_ranks + rank, m});
    }
  }
  return turns;
}

ComputationOrder order_of(int rank, int num_ranks, int virtual_stages, int num_micro_batches) {
  const std::vector<StageMicroBatch> forwards =
      turns_of(rank, num_ranks, virtual_stages, num_micro_batches, false);
  const std::vector<StageMicroBatch> backwards =
      turns_of(rank, num_ranks, virtual_stages, num_micro_batches, true);
  const int warm_up = (num_ranks - rank - 1) * 2 + (virtual_stages - 1) * num_ranks;
  ComputationOrder order = one_f_one_b_order(forwards, backwards, static_cast<std::size_t>(warm_up));
  std::erase_if(order, [&](const Computation& c) { return c.micro_batch >= num_micro_batches; });
  return order;
}

/// A computation of the rank's first or second virtual stage.
struct Wish {
  ActionKind kind;
  int chunk = 0;
};

/// The rules for what a rank may do.
struct Rules {
  std::vector<Wish> wishes;             // the most urgent first
  int max_in_flight = 0;                // most forwards whose weight half is to come
  std::vector<int> most_before_back{};  // by rank: most forwards whose input half is to come
};

/// Makes zero_bubble_h1() and v_shaped(), whose weight halves wait until a rank has nothing else to do.
/// Time goes by units in which every rank does one computation: the first on its list of wishes that is
/// ready.
class ListScheduler {
 public:
  ListScheduler(PipelineSchedule schedule, int num_ranks, Rules rules)
      : schedule_(std::move(schedule)), rules_(std::move(rules)), stages_(to_index(schedule_.num_stages())) {
    schedule_.orders.resize(to_index(num_ranks));
    for (int stage = 0; stage < schedule_.num_stages(); ++stage) {
      stages_[to_index(stage)].ends[forward_].assign(to_index(schedule_.num_micro_batches), never);
      stages_[to_index(stage)].ends[backward_].assign(to_index(schedule_.num_micro_batches), never);
    }
    chunks_.resize(to_index(num_ranks));
    for (int stage = 0; stage < schedule_.num_stages(); ++stage)
      chunks_[to_index(schedule_.rank_of[to_index(stage)])].push_back(stage);
  }

  PipelineSchedule run() {
    std::size_t left = 3 * stages_.size() * to_index(schedule_.num_micro_batches);
    for (now_ = 0; left > 0; ++now_) {
      const std::size_t before = left;
      for (int rank = 0; rank < schedule_.num_ranks(); ++rank) left -= do_one(rank) ? 1 : 0;
      DT_CHECK(left < before, "no rank can continue, and {} computations are left", left);
    }
    return std::move(schedule_);
  }

 private:
  static constexpr int never = 1 << 30;
  static constexpr std::size_t forward_ = 0, backward_ = 1, weight_ = 2;
  struct Stage {
    std::array<int, 3> next{};               // next micro-batch, by kind
    std::array<std::vector<int>, 2> ends{};  // ends of each forward and each backward
  };

  bool do_one(int rank) {
    for (const Wish& wish : rules_.wishes) {
      const int stage = chunks_[to_index(rank)][to_index(wish.chunk)];
      if (!is_ready(rank, stage, wish.kind)) continue;
      const auto kind = static_cast<std::size_t>(wish.kind);
      const int m = stages_[to_index(stage)].next[kind]++;
      if (kind != weight_) stages_[to_index(stage)].ends[kind][to_index(m)] = now_ + 1;
      schedule_.orders[to_index(rank)].push_back({wish.kind, stage, m});
      return true;
    }
    return false;
  }

  bool is_done(int stage, std::size_t kind, int m) const {
    return stages_[to_index(stage)].ends[kind][to_index(m)] <= now_;
  }
  /// Returns the forwards of a rank less its computations of a later kind.
  int num_in_flight(int rank, std::size_t until) const {
    int count = 0;
    for (const int s : chunks_[to_index(rank)])
      count += stages_[to_index(s)].next[forward_] - stages_[to_index(s)].next[until];
    return count;
  }

  bool is_ready(int rank, int stage, ActionKind kind) const {
    const int m = stages_[to_index(stage)].next[static_cast<std::size_t>(kind)];
    if (m == schedule_.num_micro_batches) return false;
    if (kind == ActionKind::forward) {
      return (stage == 0 || is_done(stage - 1, forward_, m)) &&
             num_in_flight(rank, weight_) < rules_.max_in_flight &&
             num_in_flight(rank, backward_) < rules_.most_before_back[to_index(rank)];
    }
    if (kind == ActionKind::backward_weight) return is_done(stage, backward_, m);
    const bool is_last = stage + 1 == schedule_.num_stages();
    return is_done(stage, forward_, m) && (is_last || is_done(stage + 1, backward_, m));
  }

  PipelineSchedule schedule_;
  Rules rules_;
  std::vector<Stage> stages_;
  std::vector<std::vector<int>> chunks_;  // virtual stages of each rank
  int now_ = 0;
};

}  // namespace

PipelineSchedule gpipe(int num_ranks, int num_micro_batches) {
  return with_warm_up(num_ranks, num_micro_batches, [&](int) { return num_micro_batches; });
}

PipelineSchedule one_f_one_b(int num_ranks, int num_micro_batches) {
  return with_warm_up(num_ranks, num_micro_batches, [&](int rank) { return num_ranks - rank - 1; });
}

PipelineSchedule interleaved(int num_ranks, int virtual_stages, int num_micro_batches) {
  DT_CHECK(virtual_stages > 0, "{} virtual stages", virtual_stages);
  if (virtual_stages == 1) return one_f_one_b(num_ranks, num_micro_batches);
  DT_CHECK(num_ranks > 0 && num_micro_batches > 0, "a schedule of {} ranks, {} micro-batches", num_ranks,
           num_micro_batches);
  PipelineSchedule schedule{.num_micro_batches = num_micro_batches};
  for (int stage = 0; stage < num_ranks * virtual_stages; ++stage)
    schedule.rank_of.push_back(stage % num_ranks);
  for (int rank = 0; rank < num_ranks; ++rank)
    schedule.orders.push_back(order_of(rank, num_ranks, virtual_stages, num_micro_batches));
  return schedule;
}

PipelineSchedule zero_bubble_h1(int num_ranks, int num_micro_batches) {
  using enum ActionKind;
  DT_CHECK(num_ranks > 0 && num_micro_batches > 0, "a schedule of {} ranks, {} micro-batches", num_ranks,
           num_micro_batches);
  PipelineSchedule schedule{.num_micro_batches = num_micro_batches,
                            .rank_of = std::vector<int>(to_index(num_ranks)),
                            .splits_backward = true};
  std::iota(schedule.rank_of.begin(), schedule.rank_of.end(), 0);
  // Up to as far ahead of its backwards as 1F1B is, a rank goes forward before all else, as the next
  // rank waits for it.
  Rules rules{.wishes = {{forward}, {backward_input}, {backward_weight}}, .max_in_flight = num_ranks};
  for (int rank = 0; rank < num_ranks; ++rank) rules.most_before_back.push_back(num_ranks - rank);
  return ListScheduler(std::move(schedule), num_ranks, std::move(rules)).run();
}

PipelineSchedule v_shaped(int num_ranks, int num_micro_batches) {
  using enum ActionKind;
  DT_CHECK(num_ranks > 0 && num_micro_batches > 0, "a schedule of {} ranks, {} micro-batches", num_ranks,
           num_micro_batches);
  PipelineSchedule schedule{.num_micro_batches = num_micro_batches, .splits_backward = true};
  for (int rank = 0; rank < num_ranks; ++rank) schedule.rank_of.push_back(rank);
  for (int rank = num_ranks - 1; rank >= 0; --rank) schedule.rank_of.push_back(rank);
  // Forwards come first, up to the memory's limit. Among them, the second virtual stage comes
  // first, as it turns back sooner: the last rank then has work from its first forward on.
  Rules rules{.wishes = {{forward, 1},
                         {forward, 0},
                         {backward_input, 0},
                         {backward_input, 1},
                         {backward_weight, 1},
                         {backward_weight, 0}},
              .max_in_flight = 2 * num_ranks,
              .most_before_back = std::vector<int>(to_index(num_ranks), 2 * num_ranks)};
  return ListScheduler(std::move(schedule), num_ranks, std::move(rules)).run();
}

}  // namespace dt::parallel
