#include "equivalence/compare_layouts.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"

using namespace dt;
using namespace dt::equivalence;

namespace {

std::string refusal(const std::string& text, int num_ranks, const plan::Settings& base = {}) {
  try {
    parse_layouts(text, base, num_ranks);
    return {};
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    return error.message();
  }
}

plan::Plan plan_of(const model::Layout& layout, std::int64_t micro_batches = 8) {
  plan::Plan plan;
  plan.layout = layout;
  plan.micro_batches_per_step = micro_batches;
  plan.grad_lanes = 4;
  return plan;
}

}  // namespace

TEST_CASE("a layout says its pipeline, and takes pp × dp ranks") {
  const auto layouts = parse_layouts(
      "dp=2; pp=2,schedule=interleaved,virtual-stages=3,stage-units=1+2+2+2+2+3,dp=3; pp=4,zero=1", {}, 9);
  REQUIRE(layouts.size() == 3);
  CHECK(layouts[0].ranks == 2);
  CHECK(layouts[0].settings.pp == 1);
  CHECK(layouts[1].ranks == 6);
  CHECK(name_of(layouts[1].settings.pp_schedule) == "interleaved");
  CHECK(layouts[1].settings.virtual_stages == 3);
  CHECK(layouts[1].settings.stage_units == std::vector<std::string>{"1", "2", "2", "2", "2", "3"});
  CHECK(layouts[2].ranks == 8);  // as many as make up whole pipelines
  CHECK(layouts[2].settings.zero == 1);
}

TEST_CASE("a layout is read as it is printed") {
  const model::Layout layout{.pp = 2,
                             .dp = 4,
                             .zero = 1,
                             .zero_group = 2,
                             .schedule = model::PipelineScheduleKind::zero_bubble,
                             .virtual_stages = 2};
  const ComparedLayout read = parse_layouts(layout.to_string(), {}, 8).at(0);
  CHECK(read.ranks == 8);
  CHECK(name_of(read.settings.pp_schedule) == "zero-bubble");
  CHECK(read.settings.virtual_stages == 2);
  CHECK(read.settings.zero_group == "2");
  CHECK(parse_layouts("dp=2,tp=1,zero=0,zero-group=all", {}, 2).at(0).settings.zero_group == "all");
  const model::Layout cut{.dp = 2, .tp = 2, .sequence_parallel = true};
  CHECK(parse_layouts(cut.to_string(), {}, 4).at(0).settings.sequence_parallel);
  const model::Layout experts{.dp = 4, .ep = 2};
  CHECK(parse_layouts(experts.to_string(), {}, 4).at(0).settings.ep == 2);
  CHECK_THAT(refusal("dp=2,ep=0", 4), Catch::Contains("ep=0 is not valid; expected a number from 1"));
  CHECK_THAT(refusal("dp=2,tp=2,sp=yes", 4), Catch::Contains("sp=yes is not valid; expected on or off"));
  CHECK_THAT(refusal("dp=2,zero-group=2", 4), Catch::Contains("zero-group has no effect without zero"));
}

TEST_CASE("stages that are asked for are those of as many stages alone") {
  plan::Settings base;
  base.pp = 2, base.stage_units = {"1", "3"};
  const auto layouts = parse_layouts("dp=1; pp=1,dp=2; virtual-stages=2,schedule=zero-bubble,dp=1", base, 2);
  CHECK(layouts[0].settings.stage_units == base.stage_units);
  CHECK(layouts[1].settings.stage_units.empty());
  CHECK(layouts[2].settings.stage_units.empty());
}

TEST_CASE("what a layout leaves out is as the command says") {
  plan::Settings base;
  base.pp = 2, base.pp_schedule = model::PipelineScheduleKind::gpipe;
  const auto layouts = parse_layouts("dp=1; pp=1,schedule=1f1b", base, 4);
  CHECK(layouts[0].ranks == 2);
  CHECK(name_of(layouts[0].settings.pp_schedule) == "gpipe");
  CHECK(layouts[1].ranks == 4);
  CHECK(name_of(layouts[1].settings.pp_schedule) == "1f1b");
}

TEST_CASE("all have as many gradient lanes as the largest dp") {
  for (const ComparedLayout& layout : parse_layouts("dp=1; pp=4,dp=2; dp=4", {}, 8))
    CHECK(layout.settings.grad_lanes == 4);
}

TEST_CASE("a pipeline that cannot be is refused with what would do") {
  CHECK_THAT(
      refusal("pp=2,dp=3", 4),
      Catch::Contains("this layout needs 6 ranks; 4 were started; use dp of at most 2, or start 6 ranks"));
  CHECK_THAT(refusal("pp=8", 4), Catch::Contains("use pp of at most 4"));
  CHECK_THAT(refusal("pp=0", 4), Catch::Contains("pp=0 is not valid; expected a number from 1"));
  CHECK_THAT(refusal("pp=2,schedule=dualpipe", 4),
             Catch::Contains(
                 "schedule=dualpipe is not valid; expected one of: gpipe, 1f1b, interleaved, zero-bubble"));
  CHECK_THAT(refusal("virtual-stages=x", 4),
             Catch::Contains("virtual-stages=x is not valid; expected a number"));
  CHECK_THAT(refusal("dp=2,sp=on", 4), Catch::Contains("sp=on has no effect without tp; add tp=2 or more"));
}

TEST_CASE("pipelines, schedules and recompute change no bit; ZeRO 2 and 3 are a class of their own") {
  using enum model::PipelineScheduleKind;
  const plan::Plan one = plan_of({});
  for (const int pp : {1, 2, 8}) {
    for (const int dp : {1, 2, 4}) {
      CHECK(guarantee_between(plan_of({.pp = pp, .dp = dp}), one).bit_identical);
      CHECK(guarantee_between(
                plan_of({.pp = pp, .dp = dp, .zero = 1, .schedule = zero_bubble, .virtual_stages = 2}), one)
                .bit_identical);
    }
  }
  plan::Plan again = plan_of({.pp = 2, .schedule = gpipe});
  again.recompute = plan::Recompute::full;
  CHECK(guarantee_between(again, one).bit_identical);
  const plan::Plan sharded = plan_of({.dp = 2, .zero = 2});
  CHECK(!guarantee_between(sharded, one).bit_identical);
  CHECK(guarantee_between(
            plan_of({.pp = 4, .dp = 2, .zero = 3, .schedule = interleaved, .virtual_stages = 2}), sharded)
            .bit_identical);
  CHECK(guarantee_between(sharded, one).max_loss_difference == 1e-5);
  plan::Plan rounded = one;
  rounded.arithmetic = Arithmetic::tf32;
  CHECK(guarantee_between(rounded, rounded).bit_identical);
  CHECK(!guarantee_between(rounded, rounded).max_loss_difference);
  CHECK(!guarantee_between(plan_of({.pp = 2, .dp = 3}), one).bit_identical);
}

TEST_CASE(
    "at any cp, dp of a power of two and groups of ZeRO that are whole nodes of the sum change no bit") {
  for (const int cp : {2, 3, 6}) {
    const plan::Plan one = plan_of({.cp = cp});
    CHECK(guarantee_between(plan_of({.dp = 4, .cp = cp}), one).bit_identical);
    CHECK(guarantee_between(plan_of({.dp = 2, .zero = 1, .zero_group = 2, .cp = cp}), one).bit_identical);
    CHECK(!guarantee_between(plan_of({.dp = 3, .cp = cp}), one).bit_identical);
  }
  CHECK(!guarantee_between(plan_of({.dp = 2, .zero = 1, .zero_group = 3, .cp = 3}), plan_of({.cp = 3}))
             .bit_identical);
}
