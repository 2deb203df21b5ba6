#include <catch2/catch.hpp>

#include "train/start/conditions.hpp"

using namespace dt;
using namespace dt::train;
using optim::LearningRateSchedule, optim::LearningRateScheduleKind;

namespace {

const LearningRateSchedule cosine{
    .lr = 1e-3, .min_lr = 1e-4, .warmup_steps = 10, .decay_steps = 20, .total_steps = 100};

/// Returns what `change` changes in the schedule of a run that has made `step` steps.
std::string change_of(LearningRateSchedule before, std::int64_t step,
                      const std::function<void(LearningRateSchedule&, plan::Settings&)>& change) {
  LearningRateSchedule now = before;
  plan::Settings settings;
  settings.steps = 100;
  change(now, settings);
  return describe_schedule_change(describe_schedule(before), now, settings, step);
}

}  // namespace

TEST_CASE("the learning rate's other way is told with the option that changes it") {
  CHECK(change_of(cosine, 50, [](LearningRateSchedule&, plan::Settings&) {}).empty());
  CHECK(change_of(cosine, 50, [](LearningRateSchedule& s, plan::Settings&) {
          s.lr = 2e-3, s.min_lr = 2e-4;
        }) == "--lr (lr 0.001 → 0.002, min_lr 0.0001 → 0.0002)");
  CHECK(change_of(cosine, 50, [](LearningRateSchedule& s, plan::Settings& o) {
          s.min_lr = 0, o.min_lr = 0;
        }) == "--min-lr (min_lr 0.0001 → 0.0)");
  CHECK(change_of(cosine, 50, [](LearningRateSchedule& s, plan::Settings&) {
          s.total_steps = 200, s.decay_steps = 40;
        }) == "--steps (total_steps 100 → 200)");
  CHECK(change_of(cosine, 100, [](LearningRateSchedule& s, plan::Settings& o) {
          s.total_steps = 200, o.steps.reset(), o.tokens = 1;
        }) == "--tokens (total_steps 100 → 200)");
  CHECK(change_of(cosine, 50, [](LearningRateSchedule& s, plan::Settings&) {
          s.kind = LearningRateScheduleKind::linear;
        }) == R"(--schedule (kind "cosine" → "linear"))");
  CHECK(change_of(cosine, 50, [](LearningRateSchedule& s, plan::Settings&) {
          s.kind = LearningRateScheduleKind::constant, s.total_steps = 200, s.min_lr = 3e-5;
        }) == R"(--schedule (kind "cosine" → "constant"))");
  CHECK(change_of(cosine, 50, [](LearningRateSchedule& s, plan::Settings& o) {
          s.lr = 2e-3, o.lr_reference_batch = 8;
        }) == "--lr or --global-batch with --lr-reference-batch (lr 0.001 → 0.002)");
}

TEST_CASE("a schedule that differs where the run has been, or nowhere, is not told") {
  LearningRateSchedule constant = cosine;
  constant.kind = LearningRateScheduleKind::constant;
  const auto longer = [](LearningRateSchedule& s, plan::Settings&) {
    s.total_steps = 1000000000, s.decay_steps = 7, s.min_lr = 0;
  };
  CHECK(change_of(constant, 50, longer).empty());
  const auto warmer = [](LearningRateSchedule& s, plan::Settings&) { s.warmup_steps = 20; };
  CHECK(change_of(constant, 20, warmer).empty());
  CHECK(change_of(constant, 15, warmer) == "--steps (warmup_steps 10 → 20)");
  CHECK(change_of(cosine, 20, [](LearningRateSchedule& s, plan::Settings& o) {
          s.warmup_steps = 20, o.warmup_steps = 20;
        }) == "--warmup-steps (warmup_steps 10 → 20)");
  LearningRateSchedule wsd = cosine;
  wsd.kind = LearningRateScheduleKind::wsd;
  const auto later = [](LearningRateSchedule& s, plan::Settings& o) {
    s.decay_steps = 10, o.decay_steps = 10;
  };
  CHECK(change_of(wsd, 50, later) == "--decay-steps (decay_steps 20 → 10)");
  CHECK(change_of(cosine, 50, later).empty());
}

TEST_CASE("of a schedule that an older dt did not write whole, nothing is told") {
  CHECK(describe_schedule_change("", cosine, {}, 1).empty());
  CHECK(describe_schedule_change(R"({"kind":"cosine","lr":1})", cosine, {}, 1).empty());
}
