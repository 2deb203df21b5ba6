#include "base/error.hpp"
#include "parallel/schedule/pipeline_schedule.hpp"

namespace dt::parallel {

namespace {

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

}  // namespace

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

}  // namespace dt::parallel
