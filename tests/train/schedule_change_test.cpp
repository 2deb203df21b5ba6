#include "train/start/schedule_change.hpp"

#include <catch2/catch.hpp>

using namespace dt;
using namespace dt::train;
using optim::LearningRateSchedule, optim::LearningRateScheduleKind;

namespace {

const LearningRateSchedule cosine{
    .lr = 1e-3, .min_lr = 1e-4, .warmup_steps = 10, .decay_steps = 20, .total_steps = 100};

/// Returns what `change` changes in the schedule of a run that has made `step` steps.
std::string change_of(LearningRateSchedule before, std::int64_t step,
                      const std::function<void(LearningRateSchedule&, plan::Plan&)>& change) {
  plan::Plan plan;
  plan.schedule = before;
  plan.duration.steps = 100;
  change(plan.schedule, plan);
  return describe_schedule_change(describe_schedule(before), plan, step);
}

}  // namespace

TEST_CASE("the learning rate's other way is told with the option that changes it") {
  CHECK(change_of(cosine, 50, [](LearningRateSchedule&, plan::Plan&) {}).empty());
  CHECK(change_of(cosine, 50, [](LearningRateSchedule& s, plan::Plan&) { s.lr = 2e-3, s.min_lr = 2e-4; }) ==
        "--lr (lr 0.001 → 0.002, min_lr 0.0001 → 0.0002)");
  CHECK(change_of(cosine, 50, [](LearningRateSchedule& s, plan::Plan& o) {
          s.min_lr = 0, o.learning_rate.minimum = 0;
        }) == "--min-lr (min_lr 0.0001 → 0.0)");
  CHECK(change_of(cosine, 50, [](LearningRateSchedule& s, plan::Plan&) {
          s.total_steps = 200, s.decay_steps = 40;
        }) == "--steps (total_steps 100 → 200)");
  CHECK(change_of(cosine, 100, [](LearningRateSchedule& s, plan::Plan& o) {
          s.total_steps = 200, o.duration.steps.reset(), o.duration.tokens = 1;
        }) == "--tokens (total_steps 100 → 200)");
  CHECK(change_of(cosine, 50, [](LearningRateSchedule& s, plan::Plan&) {
          s.kind = LearningRateScheduleKind::linear;
        }) == R"(--schedule (kind "cosine" → "linear"))");
  CHECK(change_of(cosine, 50, [](LearningRateSchedule& s, plan::Plan&) {
          s.kind = LearningRateScheduleKind::constant, s.total_steps = 200, s.min_lr = 3e-5;
        }) == R"(--schedule (kind "cosine" → "constant"))");
  CHECK(change_of(cosine, 50, [](LearningRateSchedule& s, plan::Plan& o) {
          s.lr = 2e-3, o.learning_rate.reference_batch = 8;
        }) == "--lr or --global-batch with --lr-reference-batch (lr 0.001 → 0.002)");
}

TEST_CASE("a schedule that differs where the run has been, or nowhere, is not told") {
  LearningRateSchedule constant = cosine;
  constant.kind = LearningRateScheduleKind::constant;
  const auto longer = [](LearningRateSchedule& s, plan::Plan&) {
    s.total_steps = 1000000000, s.decay_steps = 7, s.min_lr = 0;
  };
  CHECK(change_of(constant, 50, longer).empty());
  const auto warmer = [](LearningRateSchedule& s, plan::Plan&) { s.warmup_steps = 20; };
  CHECK(change_of(constant, 20, warmer).empty());
  CHECK(change_of(constant, 15, warmer) == "--steps (warmup_steps 10 → 20)");
  CHECK(change_of(cosine, 20, [](LearningRateSchedule& s, plan::Plan& o) {
          s.warmup_steps = 20, o.learning_rate.warmup_steps = 20;
        }) == "--warmup-steps (warmup_steps 10 → 20)");
  LearningRateSchedule wsd = cosine;
  wsd.kind = LearningRateScheduleKind::wsd;
  const auto later = [](LearningRateSchedule& s, plan::Plan& o) {
    s.decay_steps = 10, o.learning_rate.decay_steps = 10;
  };
  CHECK(change_of(wsd, 50, later) == "--decay-steps (decay_steps 20 → 10)");
  CHECK(change_of(cosine, 50, later).empty());
  CHECK(change_of(wsd, 50, [](LearningRateSchedule& s, plan::Plan&) {
          s.decay_shape = optim::DecayShape::one_minus_sqrt;
        }) == R"(--decay-shape (decay_shape "linear" → "1-sqrt"))");
  CHECK(change_of(cosine, 50, [](LearningRateSchedule& s, plan::Plan&) { s.final_steps = 10; }) ==
        "--final-steps (final_steps 0 → 10)");
  CHECK(change_of(wsd, 50, [](LearningRateSchedule& s, plan::Plan&) { s.final_steps = 10; }).empty());
}

TEST_CASE("of a schedule that an older dt did not write whole, nothing is told") {
  plan::Plan plan;
  plan.schedule = cosine;
  CHECK(describe_schedule_change("", plan, 1).empty());
  CHECK(describe_schedule_change(R"({"kind":"cosine","lr":1})", plan, 1).empty());
}

TEST_CASE("a schedule of before there were shapes falls in a line, to the end") {
  plan::Plan plan;
  plan.schedule = cosine;
  plan.schedule.kind = LearningRateScheduleKind::wsd;
  const std::string then =
      R"({"kind":"wsd","lr":0.001,"min_lr":0.0001,"warmup_steps":10,"decay_steps":20,"total_steps":100})";
  CHECK(describe_schedule_change(then, plan, 1).empty());
  plan.schedule.decay_shape = optim::DecayShape::exponential;
  CHECK(describe_schedule_change(then, plan, 1) == R"(--decay-shape (decay_shape "linear" → "exponential"))");
}
