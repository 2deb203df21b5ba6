// Tests a layout's pipeline: its schedule over its table of stages.

#include "parallel/schedule/pipeline.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"

using namespace dt;
using namespace dt::parallel;
using model::PipelineScheduleKind;

TEST_CASE("without a table, stages are even") {
  const Pipeline pipeline = pipeline_of({.pp = 2}, 7, 3, true);
  CHECK(pipeline.stages == Stages{{0, 3, 7}});
  CHECK(pipeline.schedule.rank_of == std::vector{0, 1});
  CHECK(pipeline.schedule.num_micro_batches == 3);
  CHECK(pipeline.has_split_tied_table());
}

TEST_CASE("a table says which units each virtual stage has, and comes back from them") {
  const model::StageUnits interleaved{{{0, 1}, {3, 5}}, {{1, 3}, {5, 6}}};
  const model::StageUnits v_shaped{{{0, 1}, {5, 6}}, {{1, 3}, {3, 5}}};
  for (const auto& [schedule, ranges] : {std::pair{PipelineScheduleKind::interleaved, interleaved},
                                         std::pair{PipelineScheduleKind::zero_bubble, v_shaped}}) {
    const model::Layout layout{.pp = 2, .schedule = schedule, .virtual_stages = 2, .stages = ranges};
    const Pipeline pipeline = pipeline_of(layout, 6, 4, false);
    CHECK(pipeline.stages == Stages{{0, 1, 3, 5, 6}});
    CHECK(stage_units_of(pipeline.stages, pipeline.schedule) == ranges);
  }
}

TEST_CASE("a table that the schedule does not go by is refused") {
  const model::Layout layout{.pp = 2,
                             .schedule = PipelineScheduleKind::interleaved,
                             .virtual_stages = 2,
                             .stages = {{{0, 1}, {5, 6}}, {{1, 3}, {3, 5}}}};
  CHECK_THROWS_AS(pipeline_of(layout, 6, 4, false), Error);
  CHECK_THROWS_AS(pipeline_of({.pp = 2, .stages = {{{0, 3}}, {{3, 5}}}}, 6, 4, false), Error);
}
