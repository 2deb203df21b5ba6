#include "plan/choose_layout.hpp"

#include <catch2/catch.hpp>
#include <regex>
#include <sstream>

#include "base/error.hpp"
#include "base/text/text.hpp"
#include "parallel/schedule/pipeline.hpp"
#include "plan/action_lists.hpp"
#include "plan/settings.hpp"

using namespace dt;
using namespace dt::plan;
using model::PipelineScheduleKind;

namespace {

model::ModelSpec spec_of(int layers) {
  model::ModelSpec spec = model::load_model_spec("llama-tiny");
  spec.layers = layers;
  return spec;
}

Settings asked(std::int64_t pp, std::string_view schedule = "1f1b", std::int64_t virtual_stages = 1) {
  Settings s;
  s.pp = pp;
  s.pp_schedule = parse_name<model::PipelineScheduleKind>(schedule).value();
  s.virtual_stages = virtual_stages;
  return s;
}

model::Layout chosen(const Settings& s, int ranks, int layers = 10, int ranks_per_node = 1) {
  return choose_layout(s, spec_of(layers), 32, {.num_ranks = ranks, .ranks_per_node = ranks_per_node});
}

std::string refusal(const Settings& s, int ranks, int layers = 10, int ranks_per_node = 1) {
  try {
    num_ranks_used(s, ranks);
    chosen(s, ranks, layers, ranks_per_node);
    return {};
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    return error.message();
  }
}

}  // namespace

TEST_CASE("as many ranks take part as make up whole pipelines") {
  CHECK(num_ranks_used(asked(1), 7) == 7);
  CHECK(num_ranks_used(asked(2), 7) == 6);
  CHECK(num_ranks_used(asked(4), 7) == 4);
  CHECK_THROWS_WITH(num_ranks_used(asked(8), 7), Catch::Contains("needs 8 ranks (pp 8); 7 were started"));
  CHECK_THAT(refusal(asked(8), 7), Catch::EndsWith("start 8 ranks, or use a smaller layout"));
  Settings known = asked(8);
  known.resume.model = "llama-tiny";  // a model of 4 units
  CHECK_THAT(refusal(known, 7), Catch::EndsWith("; use --pp 4, or start 8 ranks"));
  CHECK_THAT(refusal(asked(2), 1), Catch::Contains("; 1 was started;"));
}

TEST_CASE("too few ranks for a model are told what they can hold") {
  const auto cut = [](std::int64_t tp, std::int64_t pp) {
    Settings s = asked(pp);
    s.tp = tp;
    s.resume.model = "gpt2-124m";  // a model of 12 heads
    return s;
  };
  CHECK(num_ranks_used(cut(2, 3), 13) == 12);
  CHECK_THAT(refusal(cut(8, 1), 7), Catch::EndsWith("; use --tp 4, or start 8 ranks"));
  CHECK_THAT(refusal(cut(4, 4), 9), Catch::EndsWith("; use --tp 4 --pp 2, or start 16 ranks"));
  CHECK_THAT(refusal(cut(6, 2), 5), Catch::EndsWith("; use --tp 3 --pp 1, or start 12 ranks"));
  Settings rows = cut(2, 1);
  rows.sequence_parallel = true;
  CHECK_THAT(refusal(rows, 1), Catch::EndsWith("; use --tp 1 --no-sequence-parallel, or start 2 ranks"));
  CHECK_THAT(refusal(cut(2, 2), 1),
             Catch::StartsWith("this layout needs 4 ranks (tp 2 × pp 2); 1 was started"));
}

TEST_CASE("data-parallel ranks are what a pipeline leaves") {
  CHECK(chosen(asked(1), 4) == model::Layout{.dp = 4});
  const model::Layout layout = chosen(asked(2), 6);
  CHECK(layout.pp == 2);
  CHECK(layout.dp == 3);
  Settings zero = asked(2);
  zero.zero = 2;
  CHECK(chosen(zero, 8).zero == 2);
  CHECK(chosen(zero, 2).zero == 0);  // one data-parallel rank has nothing to divide
  zero.zero_group = "2";
  CHECK(chosen(zero, 8).zero_group == 2);
  CHECK_THAT(refusal(zero, 6), Catch::Contains("3 data-parallel ranks"));
}

TEST_CASE("a node of several stages is a group of all that share a stage") {
  Settings s = asked(2);
  s.zero = 1, s.zero_group = "node";
  CHECK(chosen(s, 8, 10, 2).zero_group == 2);
  CHECK(chosen(s, 8, 10, 8).zero_group == 0);
  CHECK_THROWS_AS(chosen(s, 12, 10, 4), Error);  // a node holds parts of two stages
}

TEST_CASE("a node is a group where its ranks follow each other among those that sum, dp before cp") {
  const auto node = [](int cp, int tp = 1) {
    Settings s = asked(1);
    s.cp = cp, s.tp = tp;
    s.zero = 1, s.zero_group = "node";
    return s;
  };
  CHECK(chosen(node(2), 8, 10, 8).zero_group == 0);
  CHECK(chosen(node(8), 8, 10, 2).zero_group == 2);
  CHECK(chosen(node(4, 2), 8, 10, 4).zero_group == 2);
  CHECK(refusal(node(2), 8, 10, 4) ==
        "--zero-group node: with --cp 2, each node must hold all 8 ranks that hold the same weights; use "
        "--zero-group all or --zero-group 4");
  CHECK_THAT(refusal(node(8), 8, 10, 0),
             Catch::Contains("must hold the same number of consecutive ranks; start"));
}

TEST_CASE("a layout's text may divide experts among ranks only if the model has some") {
  Settings s = asked(1);
  s.compare_layouts = "dp=4,ep=2";
  s.ep = 2;
  CHECK(refusal(s, 4) == "ep=2 divides experts among ranks, but this model has no experts");
  s.ep = 1;
  CHECK(chosen(s, 4) == model::Layout{.dp = 4});
}

TEST_CASE("units are laid on every schedule's stages, each once, as the pipeline wants them") {
  for (const auto& [schedule, virtual_stages] :
       std::vector<std::pair<std::string, int>>{{"gpipe", 1},
                                                {"1f1b", 1},
                                                {"interleaved", 2},
                                                {"interleaved", 3},
                                                {"zero-bubble", 1},
                                                {"zero-bubble", 2}}) {
    for (const int pp : {1, 2, 3, 4}) {
      CAPTURE(schedule, virtual_stages, pp);
      const model::Layout layout = chosen(asked(pp, schedule, virtual_stages), pp);
      CHECK(layout.stages.empty() == (pp * virtual_stages == 1));
      const parallel::Pipeline pipeline = parallel::pipeline_of(layout, 12, 4, false);
      CHECK(pipeline.stages.num_stages() == pp * virtual_stages);
      CHECK(pipeline.num_ranks() == pp);
    }
  }
}

TEST_CASE("asked for, stages have so many units in the order of the model") {
  Settings s = asked(2, "zero-bubble", 2);
  s.stage_units = {"1", "5", "4", "2"};
  CHECK(chosen(s, 2).stages == model::StageUnits{{{0, 1}, {10, 12}}, {{1, 6}, {6, 10}}});
  CHECK(model::stage_counts(chosen(s, 2).stages) == std::vector{1, 5, 4, 2});
}

TEST_CASE("blocks that are computed again weigh more against the head") {
  model::ModelSpec spec = model::load_model_spec("gpt2-124m");
  Settings s = asked(3);
  const auto last_stage = [&] {
    return model::stage_counts(choose_layout(s, spec, 1024, {.num_ranks = 3}).stages).back();
  };
  CHECK(last_stage() == 2);
  s.recompute = Recompute::full;
  CHECK(last_stage() == 3);
}

TEST_CASE("what cannot be laid out is refused with the rule and what would do") {
  CHECK_THAT(refusal(asked(5), 5, 2), Catch::StartsWith("--pp 5 needs at least 5 units; the model has 4 ") &&
                                          Catch::EndsWith("; use at most --pp 4"));
  CHECK_THAT(refusal(asked(2, "gpipe", 2), 2),
             Catch::StartsWith(
                 "--pp-schedule gpipe does not support --virtual-stages 2: it needs 1 stage per rank; use "));
  CHECK_THAT(refusal(asked(2, "interleaved"), 2),
             Catch::EndsWith("; use --virtual-stages 2 or --pp-schedule 1f1b"));
  CHECK_THAT(refusal(asked(4, "interleaved", 4), 4), Catch::EndsWith(" or --virtual-stages 3"));
  CHECK_THAT(refusal(asked(12, "zero-bubble", 2), 12),
             Catch::EndsWith("; use --pp 6 or --pp-schedule 1f1b --virtual-stages 1"));
  const auto with_units = [&](std::vector<std::string> units, std::int64_t pp) {
    Settings s = asked(pp);
    s.stage_units = std::move(units);
    return refusal(s, static_cast<int>(pp));
  };
  CHECK(with_units({"6", "6"}, 2).empty());
  CHECK_THAT(with_units({"6", "7"}, 2),
             Catch::Contains("--stage-units 6,7: the stages have 13 units in total; the model has 12"));
  for (const char* no_number : {"0", "-6", "x", "", "2+2", "13", "99999999999999999999"}) {
    CHECK_THAT(with_units({"6", no_number}, 2),
               Catch::Contains(fmt::format(": '{}' is not a number of units; expected 1 to 12", no_number)));
  }
  CHECK_THAT(with_units({"4", "4", "4"}, 2), Catch::Contains("3 numbers given for 2 stages"));
  CHECK_THAT(with_units({"4", "4", "4"}, 2), Catch::EndsWith("(balanced by cost)"));
  CHECK_THAT(with_units({"12"}, 1), Catch::Contains("a single stage holds all units"));
}

TEST_CASE("layouts that are compared are refused in the keys of their text, others in options") {
  Settings s = asked(2, "1f1b", 2);
  const auto both = [&](int num_ranks) {
    s.compare_layouts.reset();
    const std::string as_options = refusal(s, num_ranks);
    s.compare_layouts = "";
    return std::pair(as_options, refusal(s, num_ranks));
  };
  CHECK(both(2) ==
        std::pair<std::string, std::string>(
            "--pp-schedule 1f1b does not support --virtual-stages 2: it needs 1 stage per rank; use "
            "--pp-schedule interleaved or --virtual-stages 1",
            "schedule=1f1b does not support virtual-stages=2: it needs 1 stage per rank; use "
            "schedule=interleaved or virtual-stages=1"));
  s = asked(2), s.stage_units = {"6", "2+4"};
  CHECK_THAT(both(2).first, Catch::StartsWith("--stage-units 6,2+4: '2+4' is"));
  CHECK_THAT(both(2).second, Catch::StartsWith("stage-units=6+2+4: '2+4' is"));
  s.stage_units = {"12"};
  CHECK_THAT(both(2).first, Catch::Contains("2 stages (--pp 2, --virtual-stages 1)"));
  CHECK_THAT(both(2).second, Catch::Contains("2 stages (pp=2, virtual-stages=1)"));
  s = asked(1), s.zero = 1, s.zero_group = "3";
  CHECK_THAT(both(4).first,
             Catch::StartsWith("--zero-group 3 is not a divisor of the 4 ranks; allowed: all,"));
  CHECK_THAT(both(4).second,
             Catch::StartsWith("zero-group=3 is not a divisor of the 4 ranks; allowed: all,"));
  s = asked(1), s.tp = 2, s.sequence_parallel = true, s.compare_layouts.reset();
  const auto of_length_31 = [&] { choose_layout(s, spec_of(10), 31, {.num_ranks = 2}); };
  CHECK_THROWS_WITH(
      of_length_31(),
      Catch::StartsWith("--sequence-parallel needs --tp 2 to divide sequences of 31 tokens; use ") &&
          Catch::Contains(" or --no-sequence-parallel"));
  s.compare_layouts = "";
  CHECK_THROWS_WITH(of_length_31(),
                    Catch::StartsWith("sp=on needs tp=2 to divide sequences of 31 tokens; use ") &&
                        Catch::Contains(" or sp=off"));
}

TEST_CASE("a stage is told with its units, by name") {
  Plan plan;
  plan.spec = spec_of(6);
  const auto stage = [&](const Settings& s, int number) {
    plan.layout = chosen(s, 2, 6);
    return describe_stage(plan, number);
  };
  Settings s = asked(2);
  s.stage_units = {"1", "7"};
  CHECK(stage(s, 0) == "stage 0 of 2: embedding");
  CHECK(stage(s, 1) == "stage 1 of 2: layers.0 to head");
  s = asked(2, "zero-bubble", 2);
  s.stage_units = {"2", "1", "3", "2"};
  CHECK(stage(s, 0) == "stage 0 of 2: embedding to layers.0, layers.5 to head");
  CHECK(stage(s, 1) == "stage 1 of 2: layers.1, layers.2 to layers.4");
  CHECK(stage(asked(1), 0).empty());
}

namespace {

/// Applies a message's suggestion, such as "--tp 2 --no-sequence-parallel", to settings.
void follow(const std::string& suggestion, Settings& s, std::int64_t& length) {
  std::istringstream words(suggestion);
  for (std::string word, value; words >> word;) {
    if (word == "at" || word == "most") continue;
    if (word == "--no-sequence-parallel") {
      s.sequence_parallel = false;
      continue;
    }
    if (word == "without") {
      words >> word;
      REQUIRE(word == "--stage-units");
      s.stage_units.clear();
      continue;
    }
    words >> value;
    if (word == "--sequence-length")
      length = std::stoll(value);
    else if (word == "--tp")
      s.tp = std::stoll(value);
    else if (word == "--cp")
      s.cp = std::stoll(value);
    else if (word == "--pp")
      s.pp = std::stoll(value);
    else if (word == "--virtual-stages")
      s.virtual_stages = std::stoll(value);
    else if (word == "--pp-schedule")
      s.pp_schedule = parse_name<model::PipelineScheduleKind>(value).value();
    else if (word == "--zero-group")
      s.zero_group = value;
    else if (word == "--stage-units")
      s.stage_units = split(value, ',');
    else
      FAIL("a suggestion that cannot be followed: " << suggestion);
  }
}

/// Returns what a message suggests, in its order.
std::vector<std::string> suggestions(const std::string& message) {
  static const std::string allowed = "allowed: ", advice = "; use ";
  const std::size_t list = message.find(allowed);
  if (list != std::string::npos) {
    std::vector<std::string> groups;
    for (const std::string& group : split(message.substr(list + allowed.size()), ','))
      groups.push_back("--zero-group " + std::string(trim(group)));
    return groups;
  }
  const std::size_t begin = message.rfind(advice);
  if (begin == std::string::npos) return {};
  std::string text = message.substr(begin + advice.size());
  text = text.substr(0, std::min(text.find(", or start "), text.find(" (balanced by cost)")));
  return split(std::regex_replace(text, std::regex(", | or "), ";"), ';');
}

}  // namespace

TEST_CASE("what a refusal suggests is accepted by the same ranks") {
  int refused = 0, followed = 0;
  const auto lay = [](const Settings& s, std::int64_t length, int ranks, int per_node) {
    const Launch launch{.num_ranks = ranks, .ranks_per_node = per_node};
    choose_layout(s, model::load_model_spec(*s.resume.model), length,
                  launch_on_subset(launch, num_ranks_used(s, ranks)));
    if (s.sequence_parallel && s.tp == 1) throw usage_error("--sequence-parallel needs --tp 2 or more");
  };
  for (const char* model : {"llama-tiny", "gpt2-124m"})
    for (const int ranks : {1, 6, 8})
      for (const std::int64_t tp : {1, 2, 3, 5, 8})
        for (const std::int64_t cp : {1, 3, 4})
          for (const std::int64_t pp : {1, 2, 5})
            for (const auto& [schedule, virtual_stages] : {std::pair{"1f1b", 1},
                                                           {"1f1b", 2},
                                                           {"interleaved", 1},
                                                           {"interleaved", 3},
                                                           {"zero-bubble", 3}})
              for (const char* group : {"all", "node", "7"})
                for (const std::int64_t length : {36, 64}) {
                  Settings s = asked(pp, schedule, virtual_stages);
                  s.resume.model = model, s.tp = tp, s.cp = cp;
                  s.sequence_length = length;
                  s.sequence_parallel = tp > 1;
                  s.zero = 1, s.zero_group = group;
                  if (pp == 2 && virtual_stages == 1) s.stage_units = {"1", "3"};
                  std::string message;
                  try {
                    lay(s, length, ranks, 4);
                    continue;
                  } catch (const Error& error) {
                    message = error.message();
                  }
                  ++refused;
                  for (const std::string& suggestion : suggestions(message)) {
                    CAPTURE(model, ranks, message, suggestion);
                    Settings other = s;
                    std::int64_t other_length = length;
                    follow(suggestion, other, other_length);
                    other.sequence_length = other_length;
                    CHECK_NOTHROW(lay(other, other_length, ranks, 4));
                    ++followed;
                  }
                }
  CHECK(refused > 1000);
  CHECK(followed > 1000);
}
