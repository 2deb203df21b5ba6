#include <catch2/catch.hpp>
#include <sys/wait.h>

#include "checkpoint/sample.hpp"
#include "run/exclusion_records.hpp"
#include "run/run_directory.hpp"

namespace dt::run {
namespace {

using checkpoint::test::contains;
using checkpoint::test::TempFolder;

TEST_CASE("a checkpoint is set aside by its third failed load, and taken up again once that is forgotten") {
  const TempFolder folder;
  const RunDirectory run(folder / "run");
  run.create();
  checkpoint::test::write_small(run.checkpoints_path(), 10, run.claim("", 0).number);
  const fs::path damaged = checkpoint::test::write_small(run.checkpoints_path(), 20);
  for (const char* reason : {"first", "second"}) {
    record_failed_load(damaged, reason);
    CHECK(why_set_aside(damaged).empty());
    CHECK(run.newest_complete()->step == 20);
  }
  record_failed_load(damaged, "third");
  CHECK(contains(why_set_aside(damaged), "3 starts"));
  CHECK(contains(why_set_aside(damaged), "third"));
  CHECK(contains(why_set_aside(damaged), "--resume " + damaged.string()));
  CHECK(contains(why_set_aside(damaged / ""), "third"));
  std::vector<checkpoint::Problem> skipped;
  CHECK(run.newest_complete(&skipped)->step == 10);
  REQUIRE(skipped.size() == 1);
  CHECK(contains(skipped[0].what, "excluded: "));
  CHECK(run.checkpoints().size() == 2);
  record_failed_load(damaged, "fourth");
  CHECK(contains(why_set_aside(damaged), "third"));

  clear_failed_loads(damaged);
  CHECK(why_set_aside(damaged).empty());
  CHECK(run.newest_complete()->step == 20);
  clear_failed_loads(damaged);
}

TEST_CASE("what a crash or another program left in the account does not count") {
  const TempFolder folder;
  const fs::path checkpoint = checkpoint::test::write_small(folder.path());
  checkpoint::test::write_text(failed_loads_path(checkpoint),
                               "{\"format\":\"dt-failed-load\",\"version\":9}\n\n[1]\n{\"for");
  record_failed_load(checkpoint, "glued to the torn line");
  for (int i = 0; i < 2; ++i) record_failed_load(checkpoint, "counts");
  CHECK(why_set_aside(checkpoint).empty());
  record_failed_load(checkpoint, "third");
  CHECK_FALSE(why_set_aside(checkpoint).empty());
}

TEST_CASE("starts at once all count") {
  const TempFolder folder;
  const fs::path checkpoint = checkpoint::test::write_small(folder.path());
  std::vector<pid_t> children;
  for (std::size_t c = 0; c < max_failed_loads; ++c) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    record_failed_load(checkpoint, std::string(3000, 'x'));
    ::_exit(0);
  }
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  CHECK_FALSE(why_set_aside(checkpoint).empty());
}

TEST_CASE(
    "nothing is recorded of a checkpoint that has gone; a record that outlives it goes with the leftovers") {
  const TempFolder folder;
  const RunDirectory run(folder / "run");
  run.create();
  const fs::path kept = checkpoint::test::write_small(run.checkpoints_path(), 10);
  const fs::path gone = checkpoint::test::write_small(run.checkpoints_path(), 20);
  for (const fs::path& checkpoint : {kept, gone}) record_failed_load(checkpoint, "damaged");
  fs::remove_all(gone);
  run.remove_leftovers();
  CHECK(fs::exists(failed_loads_path(kept)));
  CHECK_FALSE(fs::exists(failed_loads_path(gone)));
  record_failed_load(gone, "removed meanwhile");
  CHECK_FALSE(fs::exists(failed_loads_path(gone)));
}

}  // namespace
}  // namespace dt::run
