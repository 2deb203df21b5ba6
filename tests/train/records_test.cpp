#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/io/files.hpp"
#include "base/test_folder.hpp"
#include "base/text/text.hpp"
#include "train/evaluate/evaluation.hpp"
#include "train/report/metrics_history.hpp"
#include "train/report/reporter.hpp"
#include "train/start/inheritance.hpp"
#include "train/start/run_record.hpp"

using namespace dt;
using namespace dt::train;
using Json = nlohmann::json;

namespace {

ConsoleSettings silent() {
  return {.tool = "test", .json = false, .quiet = true, .verbose = false, .progress = ProgressMode::never};
}

}  // namespace

TEST_CASE("a torn last line of metrics is cut off and every line stays one object") {
  const dt_test::Folder folder;
  const fs::path metrics = folder / "metrics.jsonl";
  std::ofstream(metrics)
      << "{\"kind\":\"eval\",\"step\":3,\"val_loss\":1.0,\"val_tokens\":5}\n{\"kind\":\"tr";
  Console console(silent());
  Reporter(console, metrics, 2).event({.kind = "resume", .reason = "test", .step = 3, .checkpoint = "c"});
  const auto lines = split(read_file(metrics), '\n');
  REQUIRE(lines.size() >= 2);
  CHECK(Json::parse(lines[0])["kind"] == "eval");
  CHECK(Json::parse(lines[1])["kind"] == "resume");
  CHECK(has_evaluation(metrics, 3));
  CHECK_FALSE(has_evaluation(metrics, 4));
}

TEST_CASE("lines carry the generation, and those of an abandoned history do not count") {
  const dt_test::Folder folder;
  const fs::path metrics = folder / "metrics.jsonl";
  Console console(silent());
  const auto begin = [&](std::int64_t generation, const std::string& checkpoint, std::int64_t step) {
    Reporter(console, metrics, generation)
        .event({.kind = checkpoint.empty() ? "start" : "resume",
                .reason = "test",
                .step = step,
                .checkpoint = checkpoint});
  };
  const auto evaluate = [&](std::int64_t generation, std::int64_t step) {
    Reporter(console, metrics, generation).eval({.step = step, .val_loss = 1, .val_tokens = 1});
  };
  begin(1, "", 0);
  for (const std::int64_t step : {10, 20, 30}) evaluate(1, step);
  CHECK(has_evaluation(metrics, 30));
  begin(2, "step-00000020.g1", 20);
  CHECK(has_evaluation(metrics, 10));
  CHECK(has_evaluation(metrics, 20));
  CHECK_FALSE(has_evaluation(metrics, 30));
  evaluate(1, 40);  // by a generation that does not know yet of its successor
  CHECK_FALSE(has_evaluation(metrics, 40));
  evaluate(2, 30);
  CHECK(has_evaluation(metrics, 30));
  begin(3, "step-00000010.g1", 10);  // continues the first generation, and so leaves the second out
  CHECK(has_evaluation(metrics, 10));
  CHECK_FALSE(has_evaluation(metrics, 20));
  begin(4, "/elsewhere/step-00000030.g1", 30);  // continues another run
  CHECK_FALSE(has_evaluation(metrics, 10));
  const std::string text = read_file(metrics);
  for (const std::string& line : split(text.substr(0, text.size() - 1), '\n'))
    CHECK(Json::parse(line).contains("generation"));
}

TEST_CASE("an evaluation's line has the loss of the averaged weights, if there are any") {
  const dt_test::Folder folder;
  const fs::path metrics = folder / "metrics.jsonl";
  Console console(silent());
  Reporter reporter(console, metrics, 1);
  const Evaluation weights{.loss = 2, .tokens = 8, .sources = {{"a", 1, 4}}},
      average{.loss = 1.5, .tokens = 8, .sources = {{"a", 0.5, 4}}};
  reporter.eval(eval_record(3, weights, {}));
  reporter.eval(eval_record(3, weights, average));
  const auto lines = split(read_file(metrics), '\n');
  CHECK_FALSE(Json::parse(lines[0]).contains("ema_val_loss"));
  CHECK_FALSE(Json::parse(lines[0])["sources"]["a"].contains("ema_val_loss"));
  CHECK(Json::parse(lines[1])["val_loss"] == 2);
  CHECK(Json::parse(lines[1])["ema_val_loss"] == 1.5);
  CHECK(Json::parse(lines[1])["sources"]["a"]["ema_val_loss"] == 0.5);
}

TEST_CASE("lines of an older dt are of the generation that began before them") {
  const dt_test::Folder folder;
  const fs::path metrics = folder / "metrics.jsonl";
  const auto eval = [](int step) {
    return fmt::format("{{\"kind\":\"eval\",\"step\":{},\"val_loss\":1}}\n", step);
  };
  std::ofstream(metrics)
      << R"({"kind":"start","reason":"new","step":0,"generation":1})"
      << "\n"
      << eval(10) << eval(20)
      << R"({"kind":"resume","reason":"checkpoint","step":10,"generation":2,"checkpoint":"step-00000010.g1"})"
      << "\n"
      << eval(15);
  CHECK(has_evaluation(metrics, 10));
  CHECK(has_evaluation(metrics, 15));
  CHECK_FALSE(has_evaluation(metrics, 20));
}

TEST_CASE("run.json keeps what was asked and appends each change") {
  const dt_test::Folder folder;
  const std::vector<OptionValue> first{{"lr", "0.001", true}, {"steps", "10", true}};
  CHECK(record_run(folder.path(), first, true, {}, 1, 0).empty());
  CHECK(record_run(folder.path(), first, true, {}, 2, 4).empty());
  const auto changes =
      record_run(folder.path(), {{"lr", "0.002", true}, {"steps", "10", true}}, true, {}, 3, 6);
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].option == "lr");
  CHECK(changes[0].from == "0.001");
  CHECK(record_run(folder.path(), {{"lr", "0.002", true}, {"steps", "10", true}}, true, {}, 4, 8).empty());
  const Json record = Json::parse(read_file(folder / "run.json"));
  CHECK(record["asked"]["lr"] == "0.001");
  CHECK(record["changes"][0]["to"] == "0.002");
  CHECK(record["changes"][0]["generation"] == 3);
}

TEST_CASE("run.json says what was given, and where paths lead") {
  const dt_test::Folder folder;
  const std::string here = fs::current_path().string();
  const std::vector<OptionValue> first{{"data", "web=0.5,code=1", true},
                                       {"model", "gpt2-124m", true},
                                       {"min-lr", "", false},
                                       {"tokens", "100", true},
                                       {"threads", "2", true}};
  record_run(folder.path(), first, true, {}, 1, 0);
  const RecordedOptions began = recorded_options(folder.path());
  CHECK(began.at("data").path == fmt::format("{0}/web=5,{0}/code=10", here));
  CHECK(began.at("model").path.empty());
  CHECK(began.at("tokens").given == true);
  CHECK(began.at("min-lr").given == false);
  // Options that a resume leaves out stay. Options of the machine are as each start says, and a
  // replaced option goes.
  const std::vector<OptionValue> later{{"data", here + "/web=5," + here + "/code=10", true},
                                       {"model", "", false},
                                       {"min-lr", "", false},
                                       {"steps", "7", true},
                                       {"tokens", "", false},
                                       {"threads", "", false}};
  const auto changes = record_run(folder.path(), later, true, {}, 2, 3);
  REQUIRE(changes.size() == 3);
  CHECK(changes[0].option == "steps");
  CHECK(changes[1].option == "tokens");
  CHECK(changes[2].option == "threads");
  const RecordedOptions now = recorded_options(folder.path());
  CHECK(now.at("data").value == "web=0.5,code=1");
  CHECK(now.at("model").is_given(""));
  CHECK(now.at("steps").is_given(""));
  CHECK_FALSE(now.at("tokens").is_given(""));
  // Unit counts belong to the stages of their start.
  const std::vector<OptionValue> laid{
      {"pp", "2", true}, {"pp-schedule", "1f1b", false, "1f1b"}, {"stage-units", "1,3", true}};
  record_run(folder.path(), laid, true, {}, 3, 4);
  record_run(folder.path(), {{"pp", "1", false, "1"}, {"stage-units", "", false}}, true, {}, 4, 5);
  CHECK(recorded_options(folder.path()).at("stage-units").is_given(""));
  record_run(folder.path(), {{"pp", "4", true}, {"stage-units", "", false}}, true, {}, 5, 6);
  CHECK_FALSE(recorded_options(folder.path()).at("stage-units").is_given(""));
  // A start that continues nothing has only its own command's options.
  record_run(folder.path(), {{"model", "", false}}, false, {}, 6, 0);
  CHECK_FALSE(recorded_options(folder.path()).at("model").is_given(""));
}

TEST_CASE("an older run.json does not say what was given: what is no default was") {
  const dt_test::Folder folder;
  std::ofstream(folder / "run.json")
      << R"({"format":"dt-run","version":1,"asked":{"lr":"0.001","seed":"0","min-lr":""},"changes":[]})";
  const RecordedOptions options = recorded_options(folder.path());
  CHECK(options.at("lr").is_given("0.0003"));
  CHECK_FALSE(options.at("seed").is_given("0"));
  CHECK_FALSE(options.at("min-lr").is_given(""));
}

TEST_CASE("paths are made absolute only where that means the same") {
  const std::string here = fs::current_path().string();
  const auto absolute = [](const char* option, const std::string& value) {
    return absolute_value(inheritance_rule(option), value);
  };
  CHECK(absolute("data", "shards") == here + "/shards");
  CHECK(absolute("data", "x=1/") == here + "/x=1/");
  const dt_test::Folder folder;
  fs::create_directory(folder / "p=1,q");
  fs::current_path(folder / "p=1,q");
  CHECK(absolute("data", "a=1,b=2").empty());
  fs::current_path(here);
  CHECK(absolute("model", "config.json") == here + "/config.json");
  CHECK(absolute("resume", "auto").empty());
  CHECK(absolute("seed", "3").empty());
}

TEST_CASE("run.json says how each start was laid over ranks, where it was another way") {
  const dt_test::Folder folder;
  const auto layouts = [&] { return Json::parse(read_file(folder / "run.json"))["layouts"]; };
  record_run(folder.path(), {}, true, {.dp = 4}, 1, 0);
  record_run(folder.path(), {}, true, {.dp = 4}, 2, 3);
  REQUIRE(layouts().size() == 1);
  CHECK(layouts()[0]["layout"] == "pp=1,dp=4,tp=1,zero=0");
  const model::Layout pipeline{.pp = 2, .dp = 2, .stages = {{{0, 1}}, {{1, 4}}}};
  record_run(folder.path(), {}, true, pipeline, 3, 5);
  record_run(folder.path(), {}, true, pipeline, 4, 6);
  REQUIRE(layouts().size() == 2);
  CHECK(layouts()[1]["layout"] == "pp=2,dp=2,tp=1,zero=0");
  CHECK(layouts()[1]["stage_units"] == Json({1, 3}));
  CHECK(layouts()[1]["generation"] == 3);
  CHECK(layouts()[1]["step"] == 5);
  record_run(folder.path(), {}, true, {.pp = 2, .dp = 2, .stages = {{{0, 2}}, {{2, 4}}}}, 5, 7);
  CHECK(layouts().size() == 3);
}

TEST_CASE("a run.json from before layouts goes on with them") {
  const dt_test::Folder folder;
  std::ofstream(folder / "run.json") << R"({"format":"dt-run","version":1,"asked":{},"changes":[]})";
  record_run(folder.path(), {}, true, {.dp = 2}, 2, 3);
  CHECK(Json::parse(read_file(folder / "run.json"))["layouts"].size() == 1);
}

TEST_CASE("a torn run.json is kept aside and written again") {
  const dt_test::Folder folder;
  std::ofstream(folder / "run.json") << R"({"format":"dt-run","ver)";
  CHECK(recorded_option(folder.path(), "lr").empty());
  record_run(folder.path(), {{"lr", "0.001", true}}, true, {}, 3, 5);
  CHECK(recorded_option(folder.path(), "lr") == "0.001");
  CHECK(fs::exists(folder / "run.json.torn.g3"));
}

TEST_CASE("a run.json of something else is refused") {
  const dt_test::Folder folder;
  std::ofstream(folder / "run.json") << "{}";
  CHECK_THROWS_WITH(record_run(folder.path(), {}, true, {}, 1, 0), Catch::Contains("run.json"));
}

TEST_CASE("a train line tells the step's loss, the mean since the last line, and what MFU refers to") {
  const dt_test::Folder folder;
  const dt_test::Captured out(STDOUT_FILENO);
  Console console(silent());
  Reporter(console, folder / "metrics.jsonl", 1)
      .train({.step = 10, .loss = 2.0, .mfu = 0.5, .mfu_base = "peak", .mean_loss = 3.0});
  Reporter(console, folder / "auxiliary.jsonl", 1)
      .train({.step = 10, .loss = 2.0, .auxiliary = {{"balance", 1.5}, {"z", 0.25}}});
  const Json line = Json::parse(read_file(folder / "metrics.jsonl"));
  CHECK(line["loss"] == 2.0);
  CHECK(line["mean_loss"] == 3.0);
  CHECK(line["mfu_base"] == "peak");
  CHECK_FALSE(line.contains("auxiliary_losses"));
  CHECK(Json::parse(read_file(folder / "auxiliary.jsonl"))["auxiliary_losses"] ==
        Json{{"balance", 1.5}, {"z", 0.25}});
  CHECK(out.text().find("MFU (peak)") != std::string::npos);
  CHECK(out.text().find("3.00000") != std::string::npos);
  CHECK(out.text().find("2.00000") == std::string::npos);
}

TEST_CASE("a torn run.json is put aside by the next start; one that is whole and unknown is refused") {
  const dt_test::Folder folder;
  const fs::path path = folder / "run.json";
  dt_test::put(path, R"({"format": "dt-r)");
  CHECK_NOTHROW(check_record(folder.path()));
  CHECK(recorded_option(folder.path(), "lr").empty());
  CHECK(dt_test::caught([&] { recorded_options(folder.path()); }).says("is not a run.json of dt"));
  CHECK(record_run(folder.path(), {{.name = "lr", .value = "0.5", .given = true}}, true, {}, 2, 4).empty());
  CHECK(fs::exists(folder / "run.json.torn.g2"));
  CHECK(recorded_option(folder.path(), "lr") == "0.5");
  dt_test::put(path, R"({"format": "dt-run", "version": 1, "version": 1})");
  CHECK(dt_test::caught([&] { check_record(folder.path()); }).says("twice"));
}
