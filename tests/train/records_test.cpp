#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/test_folder.hpp"
#include "base/text.hpp"
#include "train/reporter.hpp"
#include "train/run_record.hpp"

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
  Reporter(console, metrics)
      .event({.kind = "resume", .reason = "test", .step = 3, .generation = 2, .checkpoint = "c"});
  const auto lines = split(read_file(metrics), '\n');
  REQUIRE(lines.size() >= 2);
  CHECK(Json::parse(lines[0])["kind"] == "eval");
  CHECK(Json::parse(lines[1])["kind"] == "resume");
  CHECK(has_evaluation(metrics, 3));
  CHECK_FALSE(has_evaluation(metrics, 4));
}

TEST_CASE("run.json keeps what was asked and appends each change") {
  const dt_test::Folder folder;
  const std::vector<OptionValue> first{{"lr", "0.001", true}, {"steps", "10", true}};
  CHECK(record_run(folder.path(), first, {}, 1, 0).empty());
  CHECK(record_run(folder.path(), first, {}, 2, 4).empty());
  const auto changes = record_run(folder.path(), {{"lr", "0.002", true}, {"steps", "10", true}}, {}, 3, 6);
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].option == "lr");
  CHECK(changes[0].from == "0.001");
  CHECK(record_run(folder.path(), {{"lr", "0.002", true}, {"steps", "10", true}}, {}, 4, 8).empty());
  const Json record = Json::parse(read_file(folder / "run.json"));
  CHECK(record["asked"]["lr"] == "0.001");
  CHECK(record["changes"][0]["to"] == "0.002");
  CHECK(record["changes"][0]["generation"] == 3);
}

TEST_CASE("run.json says how each start was laid over ranks, where it was another way") {
  const dt_test::Folder folder;
  const auto layouts = [&] { return Json::parse(read_file(folder / "run.json"))["layouts"]; };
  record_run(folder.path(), {}, {.dp = 4}, 1, 0);
  record_run(folder.path(), {}, {.dp = 4}, 2, 3);
  REQUIRE(layouts().size() == 1);
  CHECK(layouts()[0]["layout"] == "pp=1,dp=4,tp=1,zero=0");
  const model::Layout pipeline{.pp = 2, .dp = 2, .stages = {{{0, 1}}, {{1, 4}}}};
  record_run(folder.path(), {}, pipeline, 3, 5);
  record_run(folder.path(), {}, pipeline, 4, 6);
  REQUIRE(layouts().size() == 2);
  CHECK(layouts()[1]["layout"] == "pp=2,dp=2,tp=1,zero=0");
  CHECK(layouts()[1]["stage_units"] == Json({1, 3}));
  CHECK(layouts()[1]["generation"] == 3);
  CHECK(layouts()[1]["step"] == 5);
  record_run(folder.path(), {}, {.pp = 2, .dp = 2, .stages = {{{0, 2}}, {{2, 4}}}}, 5, 7);
  CHECK(layouts().size() == 3);
}

TEST_CASE("a run.json from before layouts goes on with them") {
  const dt_test::Folder folder;
  std::ofstream(folder / "run.json") << R"({"format":"dt-run","version":1,"asked":{},"changes":[]})";
  record_run(folder.path(), {}, {.dp = 2}, 2, 3);
  CHECK(Json::parse(read_file(folder / "run.json"))["layouts"].size() == 1);
}

TEST_CASE("a run.json of something else is refused") {
  const dt_test::Folder folder;
  std::ofstream(folder / "run.json") << "{}";
  CHECK_THROWS_WITH(record_run(folder.path(), {}, {}, 1, 0), Catch::Contains("run.json"));
}
