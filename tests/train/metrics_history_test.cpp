#include "train/report/metrics_history.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "base/io/files.hpp"
#include "base/test_folder.hpp"
#include "base/text/text.hpp"

using namespace dt;
using namespace dt::train;
using checkpoint::CheckpointEntry;
using Json = nlohmann::json;

namespace {

std::string start_line(std::int64_t generation) {
  return fmt::format(R"({{"kind":"start","reason":"new","step":0,"generation":{}}})"
                     "\n",
                     generation);
}

std::string resume_line(std::int64_t generation, std::int64_t step, const std::string& from) {
  return fmt::format(
      R"({{"kind":"resume","reason":"checkpoint","step":{},"checkpoint":"{}","generation":{}}})"
      "\n",
      step, from, generation);
}

std::string eval_line(std::int64_t generation, std::int64_t step) {
  return fmt::format(R"({{"kind":"eval","step":{},"val_loss":1.5,"generation":{}}})"
                     "\n",
                     step, generation);
}

std::string local_line(std::int64_t generation, std::int64_t step) {
  return fmt::format(R"({{"kind":"local_checkpoint","step":{0},"path":"/l/{1}","generation":{2}}})"
                     "\n",
                     step, checkpoint::checkpoint_name(step, generation), generation);
}

std::string checkpoint_in_run(std::int64_t generation, std::int64_t step) {
  return checkpoint::checkpoint_name(step, generation);
}

class Metrics {
 public:
  explicit Metrics(const std::string& text) { dt_test::put(path(), text); }
  fs::path path() const { return folder_ / "metrics.jsonl"; }
  bool evaluates(std::int64_t step, std::int64_t newest_claimed = 0) const {
    return has_evaluation(path(), step, newest_claimed);
  }

 private:
  dt_test::Folder folder_;
};

/// The steps that generations begin with, by number: what reading all lines forward gives.
struct Lineage {
  explicit Lineage(const std::string& text) {
    for (const std::string& line : split(text, '\n')) {
      if (line.empty()) continue;
      lines.push_back(Json::parse(line));
      const Json& json = lines.back();
      if (json["kind"] != "start" && json["kind"] != "resume") continue;
      const auto parent = checkpoint::parse_checkpoint_name(json.value("checkpoint", ""));
      parents[json["generation"]] = {parent ? parent->generation : 0, json["step"]};
    }
    std::int64_t last = std::numeric_limits<std::int64_t>::max();
    for (auto at = parents.rbegin()->first; at != 0 && parents.contains(at); at = parents[at].first) {
      last_steps[at] = last;
      last = std::min(last, parents[at].second);
    }
  }
  bool counts(const Json& line) const {
    const auto last = last_steps.find(line["generation"]);
    return last != last_steps.end() && line["step"] <= last->second;
  }
  bool evaluates(std::int64_t step) const {
    return std::any_of(lines.begin(), lines.end(), [&](const Json& line) {
      return line["kind"] == "eval" && line["step"] == step && counts(line);
    });
  }

  std::vector<Json> lines;
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> parents;
  std::map<std::int64_t, std::int64_t> last_steps;
};

/// Returns the lines of a run whose starts follow each other, are taken for dead while they still
/// write, or are overtaken before they write their line.
std::string random_history(std::mt19937& random) {
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  std::string text, delayed;
  std::vector<CheckpointEntry> saved;
  const std::int64_t num_generations = 1 + below(6);
  for (std::int64_t generation = 1; generation <= num_generations; ++generation) {
    std::int64_t step = 0;
    const std::int64_t origin = below(8);
    std::string begin = start_line(generation);
    if (!saved.empty() && origin > 0) {
      const CheckpointEntry& from =
          origin > 3 ? saved.back()
                     : saved[static_cast<std::size_t>(below(static_cast<std::int64_t>(saved.size())))];
      step = from.step;
      begin = resume_line(generation, step, checkpoint_in_run(from.generation, step));
    }
    if (generation < num_generations && below(5) == 0) {
      delayed += begin;
      continue;
    }
    text += begin;
    const bool is_taken_for_dead = below(3) == 0;
    for (std::int64_t n = below(8); n > 0; --n) {
      if (below(3) > 0) text += eval_line(generation, step);
      ++step;
      text +=
          fmt::format("{{\"kind\":\"train\",\"step\":{},\"loss\":2,\"generation\":{}}}\n", step, generation);
      if (below(2) == 0) {
        text += local_line(generation, step);
        saved.push_back({"", step, generation});
      }
      if (below(4) == 0) text += std::exchange(delayed, "");
    }
    for (std::int64_t n = is_taken_for_dead ? 1 + below(3) : 0; n > 0; --n) {
      ++step;
      delayed += eval_line(generation, step) + local_line(generation, step);
    }
  }
  return text + delayed;
}

}  // namespace

TEST_CASE("metrics history: a torn line is no evaluation and announces nothing") {
  const std::string begun = start_line(1) + eval_line(1, 20);
  CHECK_FALSE(Metrics(begun + R"({"kind":"eval","step":30,"val)").evaluates(30));
  std::string whole = eval_line(1, 30);
  whole.pop_back();
  for (const std::int64_t newest : {0, 1}) CHECK_FALSE(Metrics(begun + whole).evaluates(30, newest));
  CHECK_FALSE(Metrics(whole).evaluates(30));
  CHECK(Metrics(begun + whole + "\n").evaluates(30, 1));
  std::string announced = local_line(1, 20);
  CHECK(has_announced_local_checkpoint(Metrics(announced).path()));
  announced.pop_back();
  CHECK_FALSE(has_announced_local_checkpoint(Metrics(announced).path()));
}

TEST_CASE("metrics history: members may have any order and blanks between them") {
  const Metrics metrics(R"({ "generation" : 1, "step": 0, "kind" : "start" })"
                        "\n"
                        R"({"val_loss": 1.5, "step": 10, "generation": 1, "kind": "eval"})"
                        "\n"
                        R"({"path": "/l/step-00000010.g1", "generation": 1, "kind": "local_checkpoint"})"
                        "\n"
                        R"({"generation": 2, "checkpoint": "step-00000005.g1", "step": 5, "kind": "resume"})"
                        "\n");
  CHECK_FALSE(metrics.evaluates(10, 2));
  CHECK(has_announced_local_checkpoint(metrics.path(), {1}));
  CHECK(announced_local_checkpoints(metrics.path()).size() == 1);
}

TEST_CASE("metrics history: lines that are no such object do not count") {
  const Metrics metrics(
      start_line(1) + eval_line(1, 10) +
      "\n[1]\nnull\n{\"kind\":7}\n{\"kind\":\"eval\",\"step\":\"30\"}\n{\"kind\":\"eval\"}\n"
      "{\"kind\":\"eval\",\"step\":20,\"step\":20}\n" +
      R"({"kind":"local_checkpoint","path":"elsewhere"})" + "\n");
  CHECK(metrics.evaluates(10, 1));
  for (const std::int64_t step : {0, 20, 30}) CHECK_FALSE(metrics.evaluates(step, 1));
  CHECK_FALSE(has_announced_local_checkpoint(metrics.path()));
  const dt_test::Folder empty;
  CHECK_FALSE(has_evaluation(empty / "metrics.jsonl", 10));
  CHECK(announced_local_checkpoints(empty / "metrics.jsonl").empty());
}

TEST_CASE("metrics history: the newest generation is the highest, also where its start wrote first") {
  const Metrics metrics(start_line(1) + eval_line(1, 20) + resume_line(3, 20, checkpoint_in_run(1, 20)) +
                        resume_line(2, 10, checkpoint_in_run(1, 10)) + eval_line(2, 30));
  for (const std::int64_t newest : {0, 3, 4}) {
    CHECK(metrics.evaluates(20, newest));
    CHECK_FALSE(metrics.evaluates(30, newest));
  }
}

TEST_CASE("metrics history: of two lines of one generation's start the last one holds") {
  const Metrics metrics(start_line(1) + eval_line(1, 20) + resume_line(2, 10, checkpoint_in_run(1, 10)) +
                        resume_line(2, 20, checkpoint_in_run(1, 20)));
  for (const std::int64_t newest : {0, 2}) CHECK(metrics.evaluates(20, newest));
}

TEST_CASE("metrics history: lines that name no generation are of the start before them") {
  const std::string old = R"({"kind":"eval","step":10,"val_loss":1})"
                          "\n";
  CHECK(Metrics(old).evaluates(10));
  CHECK(Metrics(old).evaluates(10, 1));
  CHECK(Metrics(old + R"({"kind":"start","step":0})" + "\n").evaluates(10));
  CHECK(Metrics(start_line(1) + old).evaluates(10, 1));
  CHECK(Metrics(start_line(1) + old + resume_line(2, 10, checkpoint_in_run(1, 10))).evaluates(10, 2));
  CHECK_FALSE(Metrics(start_line(1) + old + resume_line(2, 5, checkpoint_in_run(1, 5))).evaluates(10, 2));
}

TEST_CASE("metrics history: reading stops once earlier lines cannot change the answer") {
  // Each text begins with a line that would change it if it were read: no run writes such a file.
  const std::string resume = resume_line(2, 20, checkpoint_in_run(1, 20));
  CHECK_FALSE(Metrics(eval_line(2, 30) + resume).evaluates(30, 2));
  CHECK(Metrics(eval_line(2, 30) + resume).evaluates(30, 0));
  const std::string announced = local_line(1, 30) + start_line(1) + local_line(1, 10);
  CHECK(announced_local_checkpoints(Metrics(announced).path()).size() == 2);
  CHECK(announced_local_checkpoints(Metrics(announced).path(), CheckpointEntry{"", 20, 1}).size() == 1);
  CHECK(announced_local_checkpoints(Metrics(announced).path(), CheckpointEntry{"", 5, 1}).size() == 1);
  CHECK(announced_local_checkpoints(Metrics(announced).path(), CheckpointEntry{"", 5, 2}).size() == 2);
  CHECK(has_announced_local_checkpoint(Metrics(announced).path(), {1, 2}));
  CHECK_FALSE(has_announced_local_checkpoint(Metrics(local_line(1, 30) + start_line(1)).path(), {1}));
  CHECK(has_announced_local_checkpoint(Metrics(local_line(1, 30) + start_line(2)).path(), {1, 2}));
}

TEST_CASE("metrics history: a file of many blocks is read as far as needed") {
  std::string text = start_line(1) + eval_line(1, 5) + local_line(1, 5);
  for (int i = 0; i < 4000; ++i)
    text += fmt::format("{{\"kind\":\"train\",\"step\":{},\"loss\":2.5,\"generation\":1}}\n", i);
  const Metrics metrics(text + resume_line(2, 4000, checkpoint_in_run(1, 4000)));
  CHECK(metrics.evaluates(5, 2));
  CHECK_FALSE(metrics.evaluates(6, 2));
  CHECK(has_announced_local_checkpoint(metrics.path(), {1}));
  CHECK_FALSE(has_announced_local_checkpoint(metrics.path(), {2}));
  CHECK(announced_local_checkpoints(metrics.path(), CheckpointEntry{"", 3000, 1}).empty());
}

TEST_CASE("metrics history: random histories give what reading all their lines gives") {
  std::mt19937 random(7);
  for (int trial = 0; trial < 100; ++trial) {
    const std::string text = random_history(random);
    const Metrics metrics(text);
    const Lineage lineage(text);
    CAPTURE(text);
    const std::int64_t newest = lineage.parents.rbegin()->first;
    for (std::int64_t step = 0; step < 20; ++step) {
      for (const std::int64_t claimed : {std::int64_t{0}, newest, newest + 1})
        REQUIRE(metrics.evaluates(step, claimed) == lineage.evaluates(step));
    }
    std::vector<CheckpointEntry> announced;  // on the lineage
    for (const Json& line : lineage.lines) {
      if (line["kind"] == "local_checkpoint" && lineage.counts(line))
        announced.push_back({"", line["step"], line["generation"]});
    }
    REQUIRE(announced_local_checkpoints(metrics.path()).size() >= announced.size());
    for (const CheckpointEntry& known : announced) {
      const auto found = announced_local_checkpoints(metrics.path(), known);
      for (const CheckpointEntry& other : announced) {
        const bool is_newer =
            std::pair(other.generation, other.step) > std::pair(known.generation, known.step);
        const bool is_found = std::any_of(found.begin(), found.end(), [&](const CheckpointEntry& entry) {
          return entry.step == other.step && entry.generation == other.generation;
        });
        REQUIRE((is_found || !is_newer));
      }
    }
  }
}
