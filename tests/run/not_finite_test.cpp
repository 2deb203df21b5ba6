#include <catch2/catch.hpp>
#include <cmath>

#include "checkpoint/sample.hpp"
#include "run/exclusion_records.hpp"
#include "run/run_directory.hpp"

namespace dt::run {
namespace {

using checkpoint::test::contains;
using checkpoint::test::TempFolder;

/// A run with checkpoints of steps 10, 20 and 30.
struct Run {
  Run() {
    directory.create();
    const Generation own = directory.claim("", 0);
    for (const std::int64_t step : {10, 20, 30})
      checkpoint::test::write_small(directory.checkpoints_path(), step, own.number);
  }
  fs::path at(std::int64_t step) const {
    return directory.checkpoints_path() / checkpoint::checkpoint_name(step, 1);
  }
  TempFolder folder;
  RunDirectory directory{folder / "run"};
};

TEST_CASE("a checkpoint whose loss was not finite is skipped, and does not count when others are pruned") {
  const Run run;
  mark_not_finite(run.at(30), {std::nan(""), "the loss of step 31"});
  const std::string why = why_not_finite(run.at(30) / "");
  CHECK(contains(why, "the loss of step 31 was nan ("));
  CHECK(contains(why, "--resume " + run.at(30).string()));
  CHECK(why_excluded(run.at(20)).empty());
  std::vector<checkpoint::Problem> skipped;
  CHECK(run.directory.newest_complete(&skipped)->step == 20);
  REQUIRE(skipped.size() == 1);
  CHECK(contains(skipped[0].what, "not finite"));

  CHECK(run.directory.prune(1, 1, 0).removed == std::vector<fs::path>{run.at(10)});
  CHECK(fs::exists(run.at(30)));
  mark_not_finite(run.at(20), {HUGE_VAL, "the validation loss of step 20"});
  CHECK(run.directory.prune(1, 1, 0).removed.empty());
  CHECK_FALSE(run.directory.newest_complete());

  clear_not_finite(run.at(30));
  clear_not_finite(run.at(30));
  CHECK(run.directory.newest_complete()->step == 30);
  CHECK(run.directory.prune(1, 1, 0).removed == std::vector<fs::path>{run.at(20)});
  CHECK_FALSE(fs::exists(not_finite_path(run.at(20))));
}

TEST_CASE("a mark that cannot be read is one; a mark that outlives its checkpoint goes with the leftovers") {
  const Run run;
  checkpoint::test::write_text(not_finite_path(run.at(20)), "{\"format\":");
  CHECK(contains(why_not_finite(run.at(20)), "its weights gave a loss that is not finite; use --resume"));
  checkpoint::test::write_text(not_finite_path(run.at(30)), "[1]");
  CHECK(run.directory.newest_complete()->step == 10);
  fs::remove_all(run.at(30));
  run.directory.remove_leftovers();
  CHECK(fs::exists(not_finite_path(run.at(20))));
  CHECK_FALSE(fs::exists(not_finite_path(run.at(30))));
}

}  // namespace
}  // namespace dt::run
