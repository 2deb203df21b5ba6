#include "parallel/schedule/builders.hpp"

#include "base/error.hpp"
#include "parallel/schedule/passes.hpp"

namespace dt::parallel {

namespace {

void check(const StepShape& shape, const Pipeline& pipeline) {
  const PipelineSchedule& schedule = pipeline.schedule;
  DT_CHECK(pipeline.stages.num_stages() == schedule.num_stages() && pipeline.num_units() == shape.num_units,
           "{} units in {} stages for {} units in {}", pipeline.num_units(), pipeline.stages.num_stages(),
           shape.num_units, schedule.num_stages());
  DT_CHECK(shape.num_micro_batches <= schedule.num_micro_batches, "a schedule of {} micro-batches for {}",
           schedule.num_micro_batches, shape.num_micro_batches);
}

/// Applies all passes but with_step_end().
ActionList build(const StepShape& shape, const Pipeline& pipeline, int rank, bool trains) {
  const int last_unit = pipeline.last_unit();
  ActionList list = computations_of(pipeline, rank);
  if (shape.gathers_weights()) list = with_gathers(list, shape.frees_weights());
  if (trains) list = with_reduces(list, last_unit, shape.reduces_each_micro_batch());
  list = without_absent_micro_batches(list, shape.first_micro_batch, shape.num_micro_batches);
  if (trains && shape.recompute) list = with_recompute(list, last_unit);
  return with_transfers(list, pipeline, rank);
}

}  // namespace

std::vector<ActionList> build_training_steps(const StepShape& shape, const Pipeline& pipeline) {
  check(shape, pipeline);
  std::vector<ActionList> lists;
  for (int rank = 0; rank < pipeline.num_ranks(); ++rank)
    lists.push_back(with_step_end(build(shape, pipeline, rank, true), pipeline, rank));
  return lists;
}

std::vector<ActionList> build_evaluations(const StepShape& shape, const Pipeline& pipeline) {
  check(shape, pipeline);
  Pipeline forwards = pipeline;
  forwards.schedule = forward_only(pipeline.schedule);
  std::vector<ActionList> lists;
  for (int rank = 0; rank < pipeline.num_ranks(); ++rank)
    lists.push_back(build(shape, forwards, rank, false));
  return lists;
}

}  // namespace dt::parallel
