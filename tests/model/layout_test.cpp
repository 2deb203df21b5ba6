#include "model/layout.hpp"

#include <array>
#include <catch2/catch.hpp>

#include "model/model_spec.hpp"

using namespace dt;
using namespace dt::model;

namespace {

constexpr std::array keys = {"dp", "tp", "sp", "zero"};

LayoutText read(const std::string& text) {
  return LayoutText(text, "--layout " + text, keys);
}

/// Returns the error message of reading `text`; "" if there is none.
std::string wrong(const std::string& text) {
  try {
    int zero = 0;
    bool sp = false;
    read(text).read("zero", 0, 3, zero);
    read(text).read("sp", sp);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    return error.message();
  }
  return "";
}

}  // namespace

TEST_CASE("a layout is printed in one form") {
  CHECK(Layout{}.to_string() == "pp=1,dp=1,tp=1,zero=0");
  CHECK(Layout{.pp = 2, .dp = 4, .tp = 2, .zero = 1}.to_string() == "pp=2,dp=4,tp=2,zero=1");
  CHECK(Layout{.pp = 2, .schedule = PipelineScheduleKind::zero_bubble, .virtual_stages = 2}.to_string() ==
        "pp=2,schedule=zero-bubble,virtual-stages=2,dp=1,tp=1,zero=0");
  CHECK(Layout{.dp = 4, .zero = 3, .zero_group = 2}.to_string() == "pp=1,dp=4,tp=1,zero=3,zero-group=2");
  CHECK(Layout{.dp = 4, .tp = 2, .zero = 1, .zero_group = 2, .sequence_parallel = true}.to_string() ==
        "pp=1,dp=4,tp=2,sp=on,zero=1,zero-group=2");
  CHECK(Layout{.dp = 2, .tp = 2, .cp = 2, .ep = 4}.to_string() == "pp=1,dp=2,cp=2,ep=4,tp=2,zero=0");
  CHECK(Layout{.dp = 4, .ep = 1}.to_string() == "pp=1,dp=4,tp=1,zero=0");
  CHECK(Layout{.dp = 4, .ep = 2} != Layout{.dp = 4});
}

TEST_CASE("experts are divided among data ranks, where there are any") {
  const ModelSpec dense = load_model_spec("llama-tiny");
  CHECK(expert_axis_error(Layout{.dp = 4}, dense).empty());
  CHECK(expert_axis_error(Layout{.dp = 4, .ep = 2}, dense) ==
        "ep=2 divides experts among ranks, but this model has no experts");
  CHECK(expert_axis_error(Layout{.ep = 2}, dense) ==
        "ep=2 divides experts among ranks, but this model has no experts");
  for (const int ep : {1, 2, 3, 6}) CHECK(expert_axis_error(Layout{.dp = 2, .cp = 3, .ep = ep}, 6).empty());
  CHECK(expert_axis_error(Layout{.dp = 2, .cp = 3, .ep = 4}, 6) ==
        "ep=4 does not fit 6 experts and dp=2 × cp=3: ep must divide dp × cp and not exceed the experts; use "
        "ep=3");
  CHECK(expert_axis_error(Layout{.dp = 16, .ep = 16}, 6) ==
        "ep=16 does not fit 6 experts and dp=16: ep must divide dp and not exceed the experts; use ep=4");
  CHECK_THAT(expert_axis_error(Layout{.dp = 3, .ep = 1000}, 2), Catch::EndsWith("; use ep=1"));
}

TEST_CASE("a layout's text gives what it names and leaves the rest alone") {
  Layout layout{.tp = 7};
  const LayoutText text = read(" dp = 2, zero=3,");
  text.read("dp", 1, 64, layout.dp);
  text.read("tp", 1, 64, layout.tp);
  text.read("zero", 0, 3, layout.zero);
  CHECK(layout == Layout{.dp = 2, .tp = 7, .zero = 3});
  CHECK(text.has("dp"));
  CHECK(!text.has("tp"));
  read("sp=on").read("sp", layout.sequence_parallel);
  CHECK(layout.sequence_parallel);
  read("dp=2").read("sp", layout.sequence_parallel);
  CHECK(layout.sequence_parallel);
  read("sp=off").read("sp", layout.sequence_parallel);
  CHECK(!layout.sequence_parallel);
  CHECK(read(" ,").empty());
}

TEST_CASE("a layout's text that cannot be says what would do") {
  CHECK(wrong("zero=3").empty());
  CHECK_THAT(wrong("cp=2"), Catch::Contains("--layout cp=2: 'cp=2' is not a layout setting") &&
                                Catch::Contains("expected settings: dp=, tp=, sp=, zero="));
  CHECK_THAT(wrong("dp"), Catch::Contains("'dp' has no value; write dp=VALUE"));
  CHECK_THAT(wrong("dp=2,dp=2"), Catch::Contains("dp is given twice"));
  CHECK_THAT(wrong("zero=4"), Catch::Contains("zero=4 is not valid; expected a number from 0 to 3"));
  CHECK_THAT(wrong("sp=yes"), Catch::Contains("sp=yes is not valid; expected on or off"));
  CHECK_THAT(wrong("zero=x"), Catch::Contains("zero=x is not valid; expected a number from 0 to 3"));
}

TEST_CASE("without a table, stages have the embedding, the head, and blocks evenly") {
  CHECK(even_stages(6, 1) == StageUnits{{{0, 6}}});
  CHECK(even_stages(7, 2) == StageUnits{{{0, 3}}, {{3, 7}}});
  CHECK(even_stages(4, 3) == StageUnits{{{0, 1}}, {{1, 2}}, {{2, 4}}});
  CHECK(even_stages(4, 4) == StageUnits{{{0, 1}}, {{1, 2}}, {{2, 3}}, {{3, 4}}});
  CHECK(stages_of({.pp = 3}, 5) == std::vector{0, 0, 1, 2, 2});
  CHECK(stages_of({.pp = 2, .stages = {{{0, 1}, {3, 4}}, {{1, 3}}}}, 4) == std::vector{0, 1, 1, 0});
}

TEST_CASE("a table's counts are in the order of the model, however many ranges a stage has") {
  CHECK(stage_counts({}).empty());
  CHECK(stage_counts(even_stages(7, 2)) == std::vector{3, 4});
  CHECK(stage_counts({{{0, 1}, {6, 9}}, {{1, 4}, {4, 6}}}) == std::vector{1, 3, 2, 3});
}

TEST_CASE("a pipeline's schedule has one name, read and printed") {
  for (const char* name : {"gpipe", "1f1b", "interleaved", "zero-bubble"})
    CHECK(name_of(parse_name<PipelineScheduleKind>(name).value()) == name);
  CHECK(!parse_name<PipelineScheduleKind>("dualpipe"));
  CHECK(names_of<PipelineScheduleKind>() ==
        std::vector<std::string>{"gpipe", "1f1b", "interleaved", "zero-bubble"});
}
