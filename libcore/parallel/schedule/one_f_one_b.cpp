// Makes schedules of one virtual stage a rank whose weight halves follow at once. They differ in how
// many forwards come before the first backward.

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "parallel/schedule/pipeline_schedule.hpp"

namespace dt::parallel {

namespace {

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

}  // namespace

PipelineSchedule gpipe(int num_ranks, int num_micro_batches) {
  return with_warm_up(num_ranks, num_micro_batches, [&](int) { return num_micro_batches; });
}

PipelineSchedule one_f_one_b(int num_ranks, int num_micro_batches) {
  return with_warm_up(num_ranks, num_micro_batches, [&](int rank) { return num_ranks - rank - 1; });
}

}  // namespace dt::parallel
