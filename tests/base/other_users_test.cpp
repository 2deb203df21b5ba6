#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io/atomic_files.hpp"
#include "base/io/owned_folder.hpp"
#include "base/io/permissions.hpp"
#include "base/test_folder.hpp"

using namespace dt;
using dt_test::caught;
using dt_test::content;
using dt_test::Folder;
using dt_test::is_root;
using dt_test::put;

namespace {

constexpr uid_t other_user = 4242;

/// Gives the name, and what is in it, to another user; only root can.
void give_away(const fs::path& path) {
  REQUIRE(::lchown(path.c_str(), other_user, other_user) == 0);
}

void give_back(const fs::path& path) {
  REQUIRE(::lchown(path.c_str(), ::geteuid(), ::getegid()) == 0);
}

}  // namespace

TEST_CASE("folders and files of another user are refused") {
  if (!is_root()) return;
  const Folder folder;
  fs::create_directory(folder / "x");
  put(folder / "file", "theirs");
  give_away(folder / "x");
  give_away(folder / "file");
  const auto error = caught([&] { OwnedFolder::open_or_create(folder / "x"); });
  CHECK(error.kind == ErrorKind::environment);
  CHECK(error.says("x is a folder owned by uid 4242; expected a folder that you own"));
  CHECK(error.says("delete it"));
  CHECK(caught([&] { FileLock().try_lock(folder / "file"); }).says("owned by uid 4242"));
  CHECK(caught([&] { File::create(folder / "file"); }).says("owned by uid 4242"));
  FileLock lock;
  CHECK(lock.try_lock(folder / "file", Owner::anyone) == FileLock::Outcome::acquired);
  // Users that may write to the folder are trusted with its lines.
  File::open_append(folder / "file").write("!");
  CHECK(content(folder / "file") == "theirs!");
}

TEST_CASE("what another user has in a tree stays") {
  if (!is_root()) return;
  const Folder folder;
  fs::create_directories(folder / "x" / "theirs");
  put(folder / "x" / "theirs" / "a", "");
  give_away(folder / "x" / "theirs");
  put(folder / "x" / "mine", "");
  CHECK(remove_tree(folder / "x") == (folder / "x" / "theirs").string() + ": it belongs to uid 4242");
  CHECK(fs::exists(folder / "x" / "theirs" / "a"));
  CHECK_FALSE(fs::exists(folder / "x" / "mine"));
}

TEST_CASE("a folder that another user left is not given a name back") {
  if (!is_root()) return;
  const Folder folder;
  REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
  fs::create_directory(folder / ".x.replaced");
  give_away(folder / ".x.replaced");
  CHECK_FALSE(restore_replaced(folder / "x"));
  CHECK_FALSE(fs::exists(folder / "x"));
  fs::remove(folder / ".x.replaced");
  fs::create_symlink("/tmp", folder / ".x.replaced");
  CHECK_FALSE(restore_replaced(folder / "x"));
}

TEST_CASE("another user's folder is not replaced") {
  if (!is_root()) return;
  const Folder folder;
  REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
  fs::create_directory(folder / "x");
  put(folder / "x" / "theirs", "");
  give_away(folder / "x");
  CHECK(caught([&] { AtomicDirectory made(folder / "x"); }).says("x is a folder owned by uid 4242"));
  give_back(folder / "x");
  AtomicDirectory made(folder / "x");
  give_away(folder / "x");
  CHECK(caught([&] { made.commit(true); }).says("x is a folder owned by uid 4242"));
  CHECK(fs::exists(folder / "x" / "theirs"));
}

TEST_CASE("members of a group replace and remove each other's work in its folder") {
  if (!is_root()) return;
  const Folder folder;
  const auto plant = [&](mode_t mode) {
    REQUIRE(::chmod(folder.path().c_str(), mode) == 0);
    fs::create_directories(folder / "x");
    put(folder / "x" / "old", "");
    put(folder / "record", "");
    for (const char* name : {"x", "x/old", "record"})
      REQUIRE(::lchown((folder / name).c_str(), 4243, 4243) == 0);
  };
  REQUIRE(::lchown(folder.path().c_str(), other_user, 4243) == 0);
  for (const mode_t mode : {0777, 01777, 03775}) {
    plant(mode);
    CHECK(caught([&] { AtomicDirectory made(folder / "x"); }).says("x is a folder owned by uid 4243"));
    remove_own_file(folder / "record");
    CHECK(fs::exists(folder / "record"));
  }
  plant(02775);
  {
    AtomicDirectory made(folder / "x");
    put(made.path() / "new", "");
    made.commit(true);
  }
  remove_own_file(folder / "record");
  CHECK(fs::exists(folder / "x" / "new"));
  CHECK(folder.num_entries() == 1);  // nothing is left of the old file
}

TEST_CASE("strangers' links, pipes and folders are refused where everybody may write") {
  if (!is_root()) return;
  const Folder folder;
  REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
  fs::create_directory(folder / "private");
  fs::create_symlink("private", folder / "link");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0666) == 0);
  fs::create_directory(folder / "theirs");
  create_folders(folder / "link" / "mine");
  for (const char* name : {"link", "pipe", "theirs"}) {
    refuse_untrusted_path(folder / name);
    REQUIRE(::lchown((folder / name).c_str(), 4243, 4243) == 0);
    CHECK(caught([&] { refuse_untrusted_path(folder / name); }).says("owned by uid 4243"));
  }
  CHECK(caught([&] { create_folders(folder / "link"); }).says("is a symbolic link owned by uid 4243"));
  CHECK(
      caught([&] { write_file_atomically(folder / "pipe", "x"); }).says("is a named pipe owned by uid 4243"));
  CHECK(caught([&] { File::open_write(folder / "pipe"); }).says("is a named pipe owned by uid 4243"));
  refuse_foreign(folder / "theirs");
  REQUIRE(::chmod(folder.path().c_str(), 0775) == 0);
  refuse_untrusted_path(folder / "theirs");  // a group may write to it
}

TEST_CASE("a stranger's folder is refused on every level of a path, through links, too") {
  if (!is_root()) return;
  const Folder folder;
  fs::create_directories(folder / "theirs" / "deep" / "run");
  fs::create_directory(folder / "own");
  fs::create_directory_symlink("../theirs/deep", folder / "own" / "link");
  give_away(folder / "theirs");
  for (const char* path : {"theirs/deep/run", "theirs/deep/new/run", "own/link/run", "own/../theirs/deep"}) {
    REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
    refuse_untrusted_path(folder / path);
    REQUIRE(::chmod(folder.path().c_str(), 01777) == 0);
    CHECK(caught([&] { refuse_untrusted_path(folder / path); }).says("theirs is a folder owned by uid 4242"));
    CHECK(caught([&] { make_private_storage(folder / path); }).says("theirs is a folder owned by uid 4242"));
  }
  CHECK_FALSE(fs::exists(folder / "theirs" / "deep" / "new"));
  const fs::path before = fs::current_path();
  for (const auto& [current, path] : {std::pair(".", "theirs/deep"), std::pair("own", "../theirs/deep"),
                                      std::pair("own", "link"), std::pair("theirs/deep", "run")}) {
    fs::current_path(folder / current);
    CHECK(caught([&] { refuse_untrusted_path(path); }).says("theirs is a folder owned by uid 4242"));
  }
  fs::current_path(before);
}

TEST_CASE("storage lies in folders of which everybody may rename nothing") {
  const Folder folder;
  make_private_storage(folder / "a" / "b");
  CHECK(fs::is_directory(folder / "a" / "b"));
  for (const fs::path& open : {folder / "a" / "b", folder / "a"}) {
    REQUIRE(::chmod(open.c_str(), 0777) == 0);
    CHECK(caught([&] { make_private_storage(folder / "a" / "b"); }).says("chmod +t"));
    REQUIRE(::chmod(open.c_str(), 01777) == 0);
    make_private_storage(folder / "a" / "b");
  }
}

TEST_CASE("names the other users that may write to a folder") {
  const Folder folder;
  const auto writers = [&](mode_t mode) {
    REQUIRE(::chmod(folder.path().c_str(), mode) == 0);
    return describe_other_writers(folder.path());
  };
  CHECK(writers(0755).empty());
  CHECK(writers(0757) == "everybody");
  if (!is_root()) return;
  CHECK(writers(0775).empty());  // root's own group
  REQUIRE(::lchown(folder.path().c_str(), 0, 4243) == 0);
  CHECK(writers(0775) == "members of group 4243");
  give_away(folder.path());
  CHECK(writers(0755) == "its owner, uid 4242");
  // In a container, neither the user nor the group may have a name.
  REQUIRE((::setegid(other_user) == 0 && ::seteuid(other_user) == 0));
  const std::string own = writers(0775);
  const bool is_given = ::chown(folder.path().c_str(), -1, 4243) == 0;
  REQUIRE((::seteuid(0) == 0 && ::setegid(0) == 0));
  CHECK(own.empty());
  CHECK_FALSE(is_given);
}
