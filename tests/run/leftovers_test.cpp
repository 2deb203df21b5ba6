// Tests files that cannot be removed from a run's folder. The cases give up root's rights, since
// root can remove almost any file.

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint/sample.hpp"
#include "run/local/local_store.hpp"

namespace dt::run {
namespace {

using checkpoint::test::contains;
using checkpoint::test::error_of;
using checkpoint::test::TempFolder;

constexpr uid_t nobody = 65534;

/// Acts, for the object's life, as a user who is not root and who owns everything in a folder.
class AsUser {
 public:
  explicit AsUser(const fs::path& folder) {
    if (!is_root_) return;
    give(folder);
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) give(entry.path());
    REQUIRE(::seteuid(nobody) == 0);
  }
  ~AsUser() {
    if (is_root_ && ::seteuid(0) != 0) std::abort();
  }

 private:
  static void give(const fs::path& path) { REQUIRE(::lchown(path.c_str(), nobody, gid_t(-1)) == 0); }
  bool is_root_ = ::geteuid() == 0;
};

/// Makes a file in a folder from which nothing can be removed, like an NFS client's .nfs file.
/// Returns that folder.
fs::path make_stubborn(const fs::path& folder) {
  fs::create_directories(folder / "kept");
  checkpoint::test::write_text(folder / "kept" / ".nfs0001", "open elsewhere");
  fs::permissions(folder / "kept", fs::perms::owner_read | fs::perms::owner_exec);
  return folder / "kept";
}

void release(const fs::path& folder) {
  fs::permissions(folder, fs::perms::owner_all);
}

struct Run {
  Run() {
    directory.create();
    for (const std::int64_t step : {10, 20, 30})
      checkpoint::test::write_small(directory.checkpoints_path(), step, directory.claim("", 0).number);
  }
  fs::path in(const std::string& name) const { return directory.checkpoints_path() / name; }
  TempFolder folder;
  RunDirectory directory{folder / "run"};
};

TEST_CASE("a leftover that cannot be removed is told, and the rest goes") {
  const Run run;
  const fs::path kept = make_stubborn(run.in(".step-00000005.g1.tmp-host-1"));
  checkpoint::test::write_text(kept.parent_path() / "rank-00000.h5", "much");
  fs::create_directories(run.in(".step-00000006.g1.removed") / "x");
  const AsUser user(run.folder.path());
  RemovalResult done = run.directory.remove_leftovers();
  CHECK(done.removed.size() == 2);
  REQUIRE(done.problems.size() == 1);
  const fs::path hidden = run.in(".step-00000005.g1.tmp-host-1.removed");
  CHECK(done.problems[0].where == hidden.string());
  CHECK(contains(done.problems[0].what, ".nfs0001: Permission denied"));
  CHECK(fs::exists(hidden / "kept" / ".nfs0001"));
  CHECK_FALSE(fs::exists(hidden / "rank-00000.h5"));
  CHECK_FALSE(fs::exists(run.in(".step-00000006.g1.removed")));
  CHECK(run.directory.remove_leftovers().problems.size() == 1);
  release(hidden / "kept");
  CHECK(run.directory.remove_leftovers().problems.empty());
  CHECK_FALSE(fs::exists(hidden));
}

TEST_CASE("a checkpoint of which a file cannot be removed keeps no other from being pruned") {
  const Run run;
  const std::vector<checkpoint::CheckpointEntry> all = run.directory.checkpoints();
  make_stubborn(run.in(".step-00000010.g1.removed"));  // as an earlier removal leaves this name
  const fs::path kept = make_stubborn(all.at(1).path);
  const AsUser user(run.folder.path());
  const RemovalResult done = run.directory.remove(std::vector<fs::path>{all.at(0).path, all.at(1).path});
  CHECK(done.removed == std::vector<fs::path>{all.at(0).path, all.at(1).path});
  CHECK(done.problems.size() == 2);
  CHECK(run.directory.checkpoints().size() == 1);
  CHECK_FALSE(fs::exists(run.in(".step-00000010.g1.1.removed")));
  release(run.in(".step-00000010.g1.removed") / "kept");
  release(run.in("." + all.at(1).path.filename().string() + ".removed") / "kept");
  CHECK(run.directory.remove({}).problems.empty());
}

TEST_CASE("members of a group remove what another's crash left; strangers' names stay") {
  if (::geteuid() != 0) return;
  const Run run;
  const auto plant = [&](mode_t mode) {
    fs::create_directories(run.in(".step-00000005.g1.tmp-host-1"));
    checkpoint::test::write_text(run.in("step-00000005.g1.not-finite.json"), "");
    for (const char* name : {".step-00000005.g1.tmp-host-1", "step-00000005.g1.not-finite.json"})
      REQUIRE(::lchown(run.in(name).c_str(), nobody, nobody) == 0);
    REQUIRE(::chmod(run.directory.checkpoints_path().c_str(), mode) == 0);
  };
  plant(0777);
  const RemovalResult kept = run.directory.remove_leftovers();
  REQUIRE(kept.problems.size() == 1);
  CHECK(contains(kept.problems[0].what, "it belongs to"));
  CHECK(fs::exists(run.in(".step-00000005.g1.tmp-host-1")));
  CHECK(fs::exists(run.in("step-00000005.g1.not-finite.json")));
  plant(02775);
  CHECK(run.directory.remove_leftovers().problems.empty());
  CHECK_FALSE(fs::exists(run.in(".step-00000005.g1.tmp-host-1")));
  CHECK_FALSE(fs::exists(run.in("step-00000005.g1.not-finite.json")));
}

TEST_CASE("names the users that may rename the run directory") {
  const Run run;
  REQUIRE(::chmod(run.folder.path().c_str(), 0777) == 0);
  CHECK(contains(run.directory.other_writers(), "everybody"));
  REQUIRE(::chmod(run.folder.path().c_str(), 01777) == 0);
  CHECK_FALSE(contains(run.directory.other_writers(), "everybody"));
}

TEST_CASE("a checkpoint that cannot be renamed stays, told, and the others go") {
  const Run run;
  const std::vector<checkpoint::CheckpointEntry> all = run.directory.checkpoints();
  const AsUser user(run.folder.path());
  fs::permissions(run.directory.checkpoints_path(), fs::perms::owner_read | fs::perms::owner_exec);
  const RemovalResult done = run.directory.remove(std::vector<fs::path>{all.at(0).path});
  release(run.directory.checkpoints_path());
  CHECK(done.removed.empty());
  REQUIRE(done.problems.size() == 1);
  CHECK(done.problems[0].where == all.at(0).path.string());
  CHECK(run.directory.checkpoints().size() == 3);
}

TEST_CASE("on a node's own storage, too, what cannot be removed is told, and the rest goes") {
  const Run run;
  const LocalStore store(run.folder / "disk", run.directory, "n0", Secret::generate());
  REQUIRE(store.open().empty());
  const fs::path kept = make_stubborn(store.unfinished_path(10, 1));
  fs::create_directories(store.unfinished_path(20, 1));
  const AsUser user(run.folder.path());
  CHECK(contains(store.open(), "Permission denied"));
  CHECK_FALSE(fs::exists(store.unfinished_path(20, 1)));
  release(kept);
  CHECK(store.open().empty());
}

}  // namespace
}  // namespace dt::run
