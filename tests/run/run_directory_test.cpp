#include "run/run_directory.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>

#include "checkpoint/sample.hpp"

namespace dt::run {
namespace {

using checkpoint::test::contains;
using checkpoint::test::error_of;
using checkpoint::test::TempFolder;

std::vector<std::string> names(const std::vector<checkpoint::CheckpointEntry>& entries) {
  std::vector<std::string> result;
  for (const checkpoint::CheckpointEntry& entry : entries) result.push_back(entry.path.filename());
  return result;
}

std::vector<std::string> names(const RemovalResult& removal) {
  std::vector<std::string> result;
  CHECK(removal.problems.empty());
  for (const fs::path& path : removal.removed) result.push_back(path.filename());
  return result;
}

/// A generation of a story: the checkpoint from which it continues, and the steps that it saves, at
/// any time.
struct Chapter {
  std::string continues;
  std::int64_t continues_step;
  std::vector<std::int64_t> steps;
};

struct Story {
  const char* title;
  std::vector<Chapter> chapters;
  std::vector<std::string> lineage;
};

RunDirectory told(const fs::path& path, const std::vector<Chapter>& chapters) {
  RunDirectory run(path);
  run.create();
  for (const Chapter& chapter : chapters) {
    const Generation g = run.claim(chapter.continues, chapter.continues_step);
    for (const std::int64_t step : chapter.steps) {
      checkpoint::test::write_small(run.checkpoints_path(), step, g.number, chapter.continues);
    }
  }
  return run;
}

const std::vector<Story>& stories() {
  static const std::vector<Story> list = {
      {"nothing yet", {}, {}},
      {"a start that saved nothing", {{"", 0, {}}}, {}},
      {"one life", {{"", 0, {5, 10, 15}}}, {"step-00000015.g1", "step-00000010.g1", "step-00000005.g1"}},
      {"resumed at the end",
       {{"", 0, {5, 10}}, {"step-00000010.g1", 10, {15}}},
       {"step-00000015.g2", "step-00000010.g1", "step-00000005.g1"}},
      {"resumed, nothing saved since",
       {{"", 0, {5, 10}}, {"step-00000010.g1", 10, {}}},
       {"step-00000010.g1", "step-00000005.g1"}},
      {"a zombie saves after its successor began",
       {{"", 0, {5, 10, 15, 20}}, {"step-00000010.g1", 10, {15}}},
       {"step-00000015.g2", "step-00000010.g1", "step-00000005.g1"}},
      {"a zombie is far ahead of a successor that saved nothing",
       {{"", 0, {5, 100}}, {"step-00000005.g1", 5, {}}},
       {"step-00000005.g1"}},
      {"the same step in three generations",
       {{"", 0, {10}}, {"", 0, {10}}, {"step-00000010.g2", 10, {20}}},
       {"step-00000020.g3", "step-00000010.g2"}},
      {"started again from step 0", {{"", 0, {10, 20}}, {"", 0, {5}}}, {"step-00000005.g2"}},
      {"started again from step 0, nothing saved", {{"", 0, {10, 20}}, {"", 0, {}}}, {}},
      {"gone back to an older one",
       {{"", 0, {10, 20, 30}}, {"step-00000030.g1", 30, {40}}, {"step-00000010.g1", 10, {15}}},
       {"step-00000015.g3", "step-00000010.g1"}},
      {"gone on through a middle generation up to where it left the first",
       {{"", 0, {10, 20, 30}}, {"step-00000020.g1", 20, {25, 35}}, {"step-00000025.g2", 25, {40}}},
       {"step-00000040.g3", "step-00000025.g2", "step-00000020.g1", "step-00000010.g1"}},
      {"begun from a checkpoint of another run",
       {{"", 0, {10}}, {"/other/run/checkpoints/step-00000010.g1", 10, {20}}},
       {"step-00000020.g2"}},
      {"the parent's checkpoint was pruned",
       {{"", 0, {5}}, {"step-00000010.g1", 10, {}}, {"step-00000010.g1", 10, {}}},
       {"step-00000005.g1"}},
      {"a circle", {{"step-00000010.g1", 10, {10, 20}}}, {"step-00000020.g1", "step-00000010.g1"}},
  };
  return list;
}

TEST_CASE("the lineage is what the newest generation descends from") {
  for (const Story& story : stories()) {
    INFO(story.title);
    const TempFolder folder;
    const RunDirectory run = told(folder / "run", story.chapters);
    CHECK(names(run.lineage()) == story.lineage);
  }
}

TEST_CASE("without generation files the manifests tell the lineage") {
  for (const Story& story : stories()) {
    if (story.chapters.empty() || story.chapters.back().steps.empty()) continue;
    INFO(story.title);
    const TempFolder folder;
    const RunDirectory run = told(folder / "run", story.chapters);
    fs::remove_all(run.generations_path());
    CHECK(names(run.lineage()) == story.lineage);
    CHECK(run.claim("", 0).number == static_cast<std::int64_t>(story.chapters.size()) + 1);
  }
}

TEST_CASE("checkpoints are the folders under a final name, by step and generation") {
  const TempFolder folder;
  const RunDirectory run = told(folder / "run", {{"", 0, {100, 5}}, {"", 0, {5}}});
  for (const char* other :
       {".step-00000007.g1.tmp-host-1", "step-7.g1", "step-00000007.g01", "step-00000007.gx", "step-00000007",
        "step--0000007.g1", "latest", "step-00000007.g1.bak"}) {
    fs::create_directories(run.checkpoints_path() / other);
  }
  checkpoint::test::write_text(run.checkpoints_path() / "step-00000008.g1", "a file");
  CHECK(names(run.checkpoints()) ==
        std::vector<std::string>{"step-00000005.g1", "step-00000005.g2", "step-00000100.g1"});
  CHECK(checkpoint::parse_checkpoint_name("x/step-123456789.g12")->step == 123456789);
}

TEST_CASE("what cannot be looked at is the machine's fault, never taken for missing or damaged") {
  const TempFolder folder;
  const RunDirectory run = told(folder / "run", {{"", 0, {5, 10}}});
  const auto make_loop = [](const fs::path& path) {
    fs::remove_all(path);
    fs::create_symlink(path.filename(), path);
  };
  const fs::path newest = run.checkpoints_path() / "step-00000010.g1";
  make_loop(newest / "rank-00000.h5");
  CHECK(contains(error_of(ErrorKind::environment, [&] { run.newest_complete(); }), "rank-00000.h5"));
  make_loop(newest);
  CHECK(contains(error_of(ErrorKind::environment, [&] { run.checkpoints(); }), newest.string()));
}

TEST_CASE("the newest complete checkpoint of the lineage is found past ruined ones") {
  const TempFolder folder;
  const RunDirectory run = told(folder / "run", {{"", 0, {5, 10, 15, 20}}});
  CHECK(run.newest_complete()->step == 20);
  fs::remove(run.checkpoints_path() / "step-00000020.g1" / "manifest.json");
  fs::resize_file(run.checkpoints_path() / "step-00000015.g1" / "rank-00000.h5", 100);
  std::vector<checkpoint::Problem> skipped;
  CHECK(run.newest_complete(&skipped)->step == 10);
  REQUIRE(skipped.size() == 2);
  CHECK(contains(skipped[0].where, "step-00000020.g1"));
  CHECK(contains(skipped[1].what, "has 100 bytes"));
  fs::remove_all(run.checkpoints_path());
  CHECK_FALSE(run.newest_complete());
}

TEST_CASE("prune keeps the newest complete ones, chosen steps, and what is not of the lineage") {
  const TempFolder folder;
  const auto run =
      told(folder / "run", {{"", 0, {5, 10, 15, 20, 25}}, {"step-00000020.g1", 20, {30, 35, 40}}});
  CHECK(names(run.prune(2, std::nullopt, 5)).empty());
  CHECK(names(run.prune(2, 2, 10)) == std::vector<std::string>{"step-00000015.g1", "step-00000005.g1"});
  CHECK(names(run.lineage()) == std::vector<std::string>{"step-00000040.g2", "step-00000035.g2",
                                                         "step-00000030.g2", "step-00000020.g1",
                                                         "step-00000010.g1"});
  CHECK(fs::exists(run.checkpoints_path() / "step-00000025.g1"));
  fs::remove(run.checkpoints_path() / "step-00000040.g2" / "manifest.json");
  CHECK(names(run.prune(2, 1, 0)) ==
        std::vector<std::string>{"step-00000030.g2", "step-00000020.g1", "step-00000010.g1"});
  CHECK(run.newest_complete()->step == 35);
  CHECK(names(run.prune(2, 1, 0)).empty());
}

TEST_CASE("prune does nothing for a process whose run a newer generation has taken over") {
  const TempFolder folder;
  const RunDirectory run =
      told(folder / "run", {{"", 0, {5, 10, 15, 20}}, {"step-00000010.g1", 10, {15, 20}}});
  const fs::path removed = run.checkpoints_path() / ".step-00000001.g1.removed";
  fs::create_directories(removed);
  const std::vector<std::string> all = names(run.checkpoints());
  CHECK(names(run.prune(1, 1, 0)).empty());
  CHECK(names(run.checkpoints()) == all);
  CHECK(fs::exists(removed));

  const Generation refused = run.claim("step-00000020.g2", 20);
  CHECK(names(run.prune(2, 1, 0)).empty());
  CHECK(names(run.checkpoints()) == all);
  run.withdraw(refused);
  CHECK(names(run.prune(2, 1, 0)) ==
        std::vector<std::string>{"step-00000015.g2", "step-00000010.g1", "step-00000005.g1"});
  CHECK_FALSE(fs::exists(removed));
}

TEST_CASE("a claim that is withdrawn is emptied in place, so that its number stays taken all the while") {
  const TempFolder folder;
  const RunDirectory run = told(folder / "run", {{"", 0, {5}}});
  const Generation refused = run.claim("", 0);
  const File claim = File::open_read(run.generation_path(refused.number));
  run.withdraw(refused);
  struct stat status {};
  REQUIRE(::fstat(claim.descriptor(), &status) == 0);
  CHECK((status.st_nlink == 1 && status.st_size == 0));
  CHECK(run.claim("", 0).number == refused.number + 1);
}

TEST_CASE(
    "what a crash left of a removal goes with the next prune, what one left of a write at the next start") {
  const TempFolder folder;
  const RunDirectory run = told(folder / "run", {{"", 0, {5, 10}}});
  const fs::path removed = run.checkpoints_path() / ".step-00000001.g1.removed";
  const fs::path unfinished = run.checkpoints_path() / ".step-00000015.g1.tmp-host-123";
  const fs::path other = run.checkpoints_path() / ".snapshot";
  for (const fs::path& path : {removed, unfinished, other}) fs::create_directories(path / "x");
  run.prune(1, 2, 0);
  CHECK_FALSE(fs::exists(removed));
  CHECK(fs::exists(unfinished));
  CHECK(names(run.remove_leftovers()) == std::vector<std::string>{unfinished.filename()});
  CHECK(fs::exists(other));
  CHECK(run.checkpoints().size() == 2);
}

TEST_CASE("generations of another version, torn or misnamed are refused by name") {
  const TempFolder folder;
  const RunDirectory run(folder / "run");
  run.create();
  const std::string good = [&] {
    const Generation g = run.claim("", 0);
    return read_file(run.generation_path(g.number));
  }();
  const auto message = [&](const std::string& text) {
    checkpoint::test::write_text(run.generation_path(1), text);
    return error_of(ErrorKind::input, [&] { run.lineage(); });
  };
  std::string other = good;
  other.replace(other.find("\"version\": 1"), 12, "\"version\": 9");
  CHECK(contains(message(other), "version 9"));
  CHECK(contains(message(good.substr(0, good.size() / 2)), "0001.json"));
  other = good;
  other.replace(other.find("\"generation\": 1"), 15, "\"generation\": 2");
  CHECK(contains(message(other), "generation 2"));
  CHECK(message(good).empty());
}

TEST_CASE("each of many starts at once gets a number of its own") {
  const TempFolder folder;
  const RunDirectory run(folder / "run");
  run.create();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&run] {
      for (int i = 0; i < 5; ++i) run.claim("", 0);
    });
  }
  std::vector<pid_t> children;
  for (std::thread& thread : threads) thread.join();
  for (int c = 0; c < 8; ++c) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (int i = 0; i < 5; ++i) run.claim("", 0);
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  const std::vector<Generation> generations = run.generations();
  REQUIRE(generations.size() == 80);
  for (std::size_t i = 0; i < 80; ++i) CHECK(generations[i].number == static_cast<std::int64_t>(i) + 1);
}

TEST_CASE("a run directory that cannot be one says so") {
  const TempFolder folder;
  checkpoint::test::write_text(folder / "file", "x");
  CHECK(contains(error_of(ErrorKind::environment, [&] { RunDirectory(folder / "file").create(); }), "file"));
  CHECK(contains(error_of(ErrorKind::input, [&] { RunDirectory(folder / "none").require(); }), "none"));
  CHECK(contains(error_of(ErrorKind::input, [&] { RunDirectory(folder.path()).require(); }), "--run"));
  CHECK(contains(error_of(ErrorKind::input,
                          [&] { RunDirectory(checkpoint::test::write_small(folder.path())).require(); }),
                 "is a checkpoint"));
  CHECK(RunDirectory(folder / "none").lineage().empty());
}

}  // namespace
}  // namespace dt::run
