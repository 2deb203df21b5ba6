#pragma once
// Describes which rank of a pipeline computes what, in which order. A schedule knows no units, no
// weights and no messages: passes add what follows from it. All schedules are flushed: a step begins
// and ends with one set of weights, so they change no result. PipeDream's weight versions (Narayanan
// et al. 2019) would, and are not here.
//
// For a step of M micro-batches over P ranks with F, B, W seconds a stage, the bubble is the time
// that ranks are idle over the time that they compute:
//   GPipe, 1F1B       (P − 1) / M
//   interleaved 1F1B  (P − 1) / (V M), P dividing M
//   zero-bubble H1    (P − 1)(F + B − W) / (M (F + B + W)), M ≥ P
//   V-shaped          (P − 1) F / (2 M (F + B + W)) if F = B = W, M ≥ 2 P

#include <span>
#include <string>
#include <vector>

#include "parallel/schedule/action.hpp"

namespace dt::parallel {

/// A virtual stage's computation of a micro-batch: forward, backward_input or backward_weight.
struct Computation {
  ActionKind kind;
  int stage = 0;
  int micro_batch = 0;
  bool operator==(const Computation&) const = default;
};
using ComputationOrder = std::vector<Computation>;

struct PipelineSchedule {
  int num_micro_batches = 0;
  std::vector<int> rank_of{};              // rank of each virtual stage, in the order of the model
  std::vector<ComputationOrder> orders{};  // orders by rank
  /// If true, a stage goes backward through all its units before it begins with their weight halves,
  /// which may wait. Otherwise a unit's weight half follows at once, which frees what the unit holds.
  bool splits_backward = false;

  int num_ranks() const { return static_cast<int>(orders.size()); }
  int num_stages() const { return static_cast<int>(rank_of.size()); }
};

/// Returns the schedule of all forwards, then all backwards. It holds all micro-batches. Backwards go
/// in the order of micro-batches too, in which gradients are summed.
/// Source: Huang et al. 2019 (GPipe), section 2.
PipelineSchedule gpipe(int num_ranks, int num_micro_batches);
/// Returns the schedule with a backward as soon as there can be one, then forwards and backwards in
/// turns. Rank p holds at most P − p micro-batches. A single rank goes from each micro-batch's
/// forward to its backward.
/// Source: Narayanan et al. 2021, section 2.2.1 (PipeDream-Flush).
PipelineSchedule one_f_one_b(int num_ranks, int num_micro_batches);
/// Returns 1F1B with `virtual_stages` on each rank, stage s on rank s mod P. Each virtual stage
/// computes groups of P micro-batches in turn. If P does not divide M, it is the schedule of the
/// next multiple without the micro-batches that do not exist, whose places stay empty.
/// Source: Narayanan et al. 2021, section 2.2.2.
PipelineSchedule interleaved(int num_ranks, int virtual_stages, int num_micro_batches);
/// Returns 1F1B in which the weight halves wait to fill the bubble. No rank holds more than P
/// micro-batches, the most that 1F1B does.
/// Source: Qi et al. 2023 (Zero Bubble Pipeline Parallelism), ZB-H1 in section 2.
PipelineSchedule zero_bubble_h1(int num_ranks, int num_micro_batches);
/// Returns the schedule with two virtual stages a rank, down the ranks and up again, so that the
/// first and the last are on rank 0. No rank holds more than 2 P of its halves, 1F1B's memory.
/// Source: Qi et al. 2024 (Pipeline Parallelism with Controllable Memory), V-ZB in section 3.
PipelineSchedule v_shaped(int num_ranks, int num_micro_batches);

/// Returns the forwards alone, as an evaluation has them. Computations that wait for nothing but
/// forwards keep their order.
PipelineSchedule forward_only(PipelineSchedule schedule);

/// A stage's turn with a micro-batch.
struct StageMicroBatch {
  int stage = 0;
  int micro_batch = 0;
};
/// Returns `warm_up` forwards, then a forward and both halves of a backward in turns, then the
/// backwards that remain.
ComputationOrder one_f_one_b_order(std::span<const StageMicroBatch> forwards,
                                   std::span<const StageMicroBatch> backwards, std::size_t warm_up);

}  // namespace dt::parallel
