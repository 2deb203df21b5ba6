// Tests drawings of small schedules, to the character.

#include "parallel/schedule/drawing/drawing.hpp"

#include <catch2/catch.hpp>
#include <fmt/core.h>
#include <regex>

#include "base/numeric/integer.hpp"
#include "base/text/text.hpp"
#include "parallel/schedule/builders.hpp"

using namespace dt;
using namespace dt::parallel;

namespace {

constexpr double ms = 1e-3;

/// A step of stages of two units. Each computation takes a millisecond.
struct Drawn {
  Pipeline pipeline;
  std::vector<ActionList> lists;
  Timeline timeline;

  explicit Drawn(const PipelineSchedule& schedule, bool recompute = false, double send_s = 0) {
    pipeline = {schedule, stages_from_counts(std::vector<int>(to_index(schedule.num_stages()), 2),
                                             2 * schedule.num_stages())};
    const StepShape shape{.num_units = pipeline.num_units(),
                          .num_micro_batches = schedule.num_micro_batches,
                          .max_micro_batches = schedule.num_micro_batches,
                          .recompute = recompute};
    lists = build_training_steps(shape, pipeline);
    timeline = simulate_timeline(lists, 1, {[&](int, const Action& a) {
                                   return a.computes() ? ms : a.transfers() ? send_s : 0;
                                 }});
  }
  Drawing drawing() const {
    std::vector<std::string> names;
    for (int unit = 0; unit < pipeline.num_units(); ++unit) names.push_back(fmt::format("<u{}>", unit));
    return {pipeline, lists, timeline, names};
  }
};

std::string rows(const PipelineSchedule& schedule, double send_s = 0, int columns = 100) {
  const Drawn drawn(schedule, false, send_s);
  return "\n" + draw_text(drawn.drawing(), columns);
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t i = text.find(what); i != std::string::npos; i = text.find(what, i + 1)) ++found;
  return found;
}

/// Returns elements that nothing closes, and end tags that close another element. Text must hold
/// neither < nor &.
std::vector<std::string> open_elements(const std::string& xml) {
  std::vector<std::string> open;
  const std::regex tag("<(/?)([a-z?]+)[^<>]*?(/?)>");
  for (std::sregex_iterator i(xml.begin(), xml.end(), tag), end; i != end; ++i) {
    const std::string name = (*i)[2];
    if (name == "?xml" || (*i)[3].length() > 0) continue;
    if ((*i)[1].length() == 0)
      open.push_back(name);
    else if (!open.empty() && open.back() == name)
      open.pop_back();
    else
      open.push_back("/" + name);
  }
  return open;
}

}  // namespace

TEST_CASE("one rank alone and GPipe are drawn as they are computed") {
  CHECK(rows(one_f_one_b(1, 2)) == R"(
         0 s        12.0 ms
stage 0 |F0-B0----F1-B1----|
F0 forward of micro-batch 0, B0 backward, . idle
)");
  // A gradient leaves before the weight half of the stage's first unit, so the bubble is a little less.
  CHECK(rows(gpipe(2, 3)) == R"(
         0 s                         23.0 ms
stage 0 |F0-F1-F2-.......B0----B1----B2----.|
stage 1 |...F0-F1-F2-B0----B1----B2----.....|
F0 forward of micro-batch 0, B0 backward, . idle
)");
}

TEST_CASE("where weight halves wait, they are drawn apart") {
  CHECK(rows(zero_bubble_h1(2, 3)) == R"(
         0 s                    20.0 ms
stage 0 |F0-F1-...B0-W0-F2-B1-W1-B2-W2-|
stage 1 |...F0-B0-F1-B1-W0-F2-B2-W1-W2-|
F0 forward of micro-batch 0, B0 backward, W0 backward of its weights, . idle
)");
}

TEST_CASE("virtual stages of a rank are drawn by their own marks") {
  CHECK(rows(interleaved(2, 2, 2)) == R"(
         0 s                                  29.0 ms
stage 0 |F0-F1-F0=F1=....B0====...B1====B0----B1----.|
stage 1 |...F0-F1-F0=B0====F1=B1====B0----B1----.....|
F0 forward of micro-batch 0, B0 backward, . idle; virtual stage of the rank: - 0, = 1
)");
}

TEST_CASE("what is sent late leaves ranks idle") {
  CHECK(rows(gpipe(2, 2), 2 * ms) == R"(
         0 s                      21.0 ms
stage 0 |F0-F1-.............B0----B1----.|
stage 1 |......F0-F1-B0----B1----........|
F0 forward of micro-batch 0, B0 backward, . idle
)");
}

TEST_CASE("a long step goes on in further bands, of one that is too long the middle is left out") {
  CHECK(rows(one_f_one_b(2, 4), 0, 40) == R"(
         0 s            14.7 ms
stage 0 |F0-F1-....B0----F2-B1-|
stage 1 |...F0-B0----F1-B1----F|
         14.7 ms        29.0 ms
stage 0 |---F3-B2----...B3----.|
stage 1 |F2B2----F3-B3----.....|
F0 forward of micro-batch 0, B0 backward, . idle
)");
  const std::string text = rows(one_f_one_b(4, 64));
  CHECK(count(text, "stage 0 |") == 4);
  CHECK(count(text, " omitted\n") == 1);
  for (const std::string& line : split(text, '\n')) CHECK(display_width(line) <= 100);
}

TEST_CASE("blocks say which of a rank's virtual stages computes, and for how long") {
  const Drawn drawn(v_shaped(2, 4));
  const std::vector<ComputationBlock> blocks = computation_blocks(drawn.drawing(), 0);
  CHECK(blocks.front().label() == "F0");
  CHECK(blocks.front().chunk == 0);
  CHECK(blocks.back().letter == 'W');
  double computing_s = 0;
  for (const ComputationBlock& block : blocks) computing_s += block.computing_s();
  CHECK(computing_s == Approx(drawn.timeline.computing_s[0]));
}

TEST_CASE("the picture has a rectangle for each computation, a line for each transfer, and is well-formed") {
  for (const PipelineSchedule& schedule : {one_f_one_b(1, 2), one_f_one_b(4, 8), v_shaped(2, 4)}) {
    const Drawn drawn(schedule, true, 0.1 * ms);
    std::size_t computations = 0, sends = 0;
    for (const ActionList& list : drawn.lists) {
      for (const Action& a : list) {
        computations += a.computes() ? 1 : 0;
        sends += a.kind == ActionKind::send ? 1 : 0;
      }
    }
    const std::string svg = draw_svg(drawn.drawing());
    CHECK(count(svg, "<rect ") == computations);
    CHECK(count(svg, "class=\"send\"") == sends);
    CHECK(count(svg, "<title>forward &lt;u0>, micro-batch 0: 0 s to 1.00 ms</title>") == 1);
    CHECK(count(svg, "class=\"r") > 0);
    CHECK(open_elements(svg).empty());
  }
}

TEST_CASE("times are written in the unit that suits them") {
  CHECK(format_short_time(0) == "0 s");
  CHECK(format_short_time(2.5) == "2.50 s");
  CHECK(format_short_time(0.0123) == "12.3 ms");
  CHECK(format_short_time(456e-6) == "456 µs");
  CHECK(format_short_time(1e-9) == "0.00 µs");
}
