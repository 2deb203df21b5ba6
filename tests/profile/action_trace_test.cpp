#include "profile/action_trace.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "base/system/host.hpp"
#include "parallel/executor_rig.hpp"
#include "parallel/one_rank.hpp"

using namespace dt;
using namespace dt::parallel;
using namespace dt::profile;
using namespace dt_test;

namespace {

model::ModelSpec small_model() {
  return model::load_model_spec("llama-tiny");
}

struct Traced {
  ActionList list;
  std::vector<TracedAction> actions = {};
  std::vector<Interval> exposures = {};
  Interval whole = {};
};

Traced traced_step(bool recompute) {
  Rig rig(small_model(), 3, 1);
  auto batch = test::Batch::arbitrary(rig.spec, 3, 8);
  Traced step{.list = build_training_step(
                  {.num_units = rig.num_units(), .num_micro_batches = 3, .recompute = recompute})};
  rig.executor.run(step.list, split(batch), 0, no_hooks());
  step.whole.start_s = monotonic_s();
  {
    const ActionTrace trace(rig.executor, rig.alone, rig.context, nullptr);
    rig.executor.run(step.list, split(batch), 0, no_hooks());
    step.actions = trace.actions();
    step.exposures = trace.exposed_communication();
  }
  step.whole.end_s = monotonic_s();
  rig.executor.run(step.list, split(batch), 0, no_hooks());  // the trace no longer records
  return step;
}

}  // namespace

TEST_CASE("a trace has each action of the list once, in its order") {
  for (const bool recompute : {false, true}) {
    const Traced step = traced_step(recompute);
    ActionList done;
    for (const TracedAction& traced : step.actions) done.push_back(traced.action);
    CHECK(done == step.list);
  }
}

TEST_CASE("actions follow each other, and together take no longer than the step") {
  const Traced step = traced_step(false);
  double before_s = step.whole.start_s, sum_s = 0;
  for (const TracedAction& traced : step.actions) {
    CHECK(traced.host.started_s >= before_s);
    CHECK(traced.host.ended_s >= traced.host.started_s);
    CHECK(traced.host.compute_s() >= 0);
    before_s = traced.host.ended_s;
    sum_s += traced.host.compute_s();
  }
  CHECK(before_s <= step.whole.end_s);
  for (const Interval& exposure : step.exposures) {
    CHECK(exposure.start_s >= step.whole.start_s);
    CHECK(exposure.end_s <= step.whole.end_s);
    sum_s += exposure.duration_s();
  }
  CHECK(sum_s <= step.whole.duration_s());
}

TEST_CASE("what an action communicates is told, and is not its own time") {
  Rig rig(small_model(), 1, 1);
  auto batch = test::Batch::arbitrary(rig.spec, 1, 8);
  constexpr double long_s = 0.02;
  const StepHooks hooks{.loss = {},
                        .control =
                            [&] {
                              rig.alone.exposed_time().measure([] {
                                for (const double since_s = monotonic_s(); monotonic_s() < since_s + long_s;)
                                  continue;
                              });
                            },
                        .step = [] {}};
  const ActionTrace trace(rig.executor, rig.alone, rig.context, nullptr);
  rig.executor.run(build_training_step({.num_units = rig.num_units(), .num_micro_batches = 1}), split(batch),
                   0, hooks);
  for (const TracedAction& traced : trace.actions()) {
    const bool is_control = traced.action.kind == ActionKind::control;
    CHECK((traced.host.exposed_s >= long_s) == is_control);
    if (is_control) CHECK(traced.host.compute_s() <= traced.host.ended_s - traced.host.started_s - long_s);
  }
  CHECK(std::ranges::count_if(trace.exposed_communication(),
                              [](const Interval& exposure) { return exposure.duration_s() >= long_s; }) == 1);
}
