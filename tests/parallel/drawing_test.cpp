// Drawings of small schedules, to the character.

#include "parallel/drawing/drawing.hpp"

#include <catch2/catch.hpp>
#include <cstdio>
#include <regex>

#include "base/text.hpp"
#include "parallel/builders.hpp"
#include "parallel/index.hpp"

using namespace dt;
using namespace dt::parallel;

namespace {

constexpr double ms = 1e-3;

/// A step of stages of two units, whose computations take a millisecond each.
struct Drawn {
  Pipeline pipeline;
  std::vector<ActionList> lists;
  Timeline timeline;

  explicit Drawn(const Schedule& schedule, bool recompute = false, double send_s = 0) {
    pipeline = {schedule, stages_of_counts(std::vector<int>(at(schedule.num_stages()), 2),
                                           2 * schedule.num_stages())};
    const StepShape shape{.num_units = pipeline.num_units(),
                          .num_micro_batches = schedule.num_micro_batches,
                          .rounds = schedule.num_micro_batches,
                          .recompute = recompute};
    lists = build_training_steps(shape, pipeline);
    timeline = walk_together(lists, 1, {[&](int, const Action& a) {
                               return a.computes() ? ms : a.transfers() ? send_s : 0;
                             }});
  }
  Drawing drawing() const {
    std::vector<std::string> names;
    for (int unit = 0; unit < pipeline.num_units(); ++unit) names.push_back(fmt::format("<u{}>", unit));
    return {pipeline, lists, timeline, names};
  }
};

std::string rows(const Schedule& schedule, double send_s = 0) {
  const Drawn drawn(schedule, false, send_s);
  return "\n" + draw_text(drawn.drawing());
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t i = text.find(what); i != std::string::npos; i = text.find(what, i + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("plain accumulation and GPipe are drawn as they are computed") {
  CHECK(rows(accumulation(2)) == R"(
         0 s        12.0 ms
stage 0 |F0-B0----F1-B1----|
F0 forward of micro-batch 0, B0 backward, . idle
)");
  CHECK(rows(gpipe(2, 3)) == R"(
         0 s                  24.0 ms
stage 0 |F0-F1-F2-...B0----B1----B2----|
)");
}
