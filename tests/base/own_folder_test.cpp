#include <catch2/catch.hpp>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/io/atomic_files.hpp"
#include "base/io/owned_folder.hpp"
#include "base/test_folder.hpp"

using namespace dt;
using dt_test::caught;
using dt_test::content;
using dt_test::Folder;
using dt_test::is_root;
using dt_test::put;

namespace {

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

/// While it lives, new files get all permissions that are asked for, except `mask`.
class Mask {
 public:
  explicit Mask(mode_t mask) : before_(::umask(mask)) {}
  ~Mask() { ::umask(before_); }
  Mask(const Mask&) = delete;

 private:
  mode_t before_;
};

/// Things that others may plant under a name.
const std::vector<std::pair<std::string, std::function<void(const fs::path&)>>> plants = {
    {"a symbolic link", [](const fs::path& p) { fs::create_symlink(p.parent_path() / "private", p); }},
    {"a symbolic link", [](const fs::path& p) { fs::create_symlink("/nowhere", p); }},
    {"a named pipe", [](const fs::path& p) { REQUIRE(::mkfifo(p.c_str(), 0666) == 0); }},
    {"a socket",
     [](const fs::path& p) {
       const int s = ::socket(AF_UNIX, SOCK_STREAM, 0);
       sockaddr_un address{AF_UNIX, {}};
       p.string().copy(address.sun_path, sizeof address.sun_path - 1);
       REQUIRE(::bind(s, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
       ::close(s);
     }},
};

}  // namespace

TEST_CASE("a folder of one's own is made, taken again, and works by its descriptor") {
  const Folder folder;
  const OwnedFolder own = OwnedFolder::open_or_create(folder / "a" / "b");
  own.create("file").write("1");
  CHECK(OwnedFolder::open_or_create(folder / "a" / "b").names() == std::vector<std::string>{"file"});
  CHECK_FALSE(OwnedFolder::create_new(folder / "a" / "b"));
  CHECK(OwnedFolder::create_new(folder / "a" / "c")->is_in_place());
  // If the name has gone to something else, nothing is written there.
  fs::rename(folder / "a" / "b", folder / "moved");
  fs::create_directory(folder / "private");
  fs::create_symlink(folder / "private", folder / "a" / "b");
  CHECK_FALSE(own.is_in_place());
  own.create("other");
  own.open_or_create_folder("inner").create("deep");
  own.rename("file", "renamed");
  own.open_append("renamed").write("2");
  CHECK(content(folder / "moved" / "renamed") == "12");
  CHECK(own.has("other"));
  CHECK(own.open_read("renamed").size() == 2);
  own.remove("other");
  own.remove("other");
  CHECK(own.remove_tree("inner").empty());
  CHECK(own.names() == std::vector<std::string>{"renamed"});
  CHECK(fs::is_empty(folder / "private"));
}

TEST_CASE("what is no folder is neither followed nor taken") {
  for (const auto& [kind, plant] : plants) {
    const Folder folder;
    fs::create_directory(folder / "private");
    put(folder / "private" / "diary", "mine");
    plant(folder / "x");
    for (const auto& use : {std::function<void()>([&] { OwnedFolder::open_or_create(folder / "x"); }),
                            std::function<void()>([&] { OwnedFolder::open(folder / "x"); }),
                            std::function<void()>([&] { File::create(folder / "x"); }),
                            std::function<void()>([&] { File::open_append(folder / "x"); }),
                            std::function<void()>([&] { FileLock().try_lock(folder / "x"); })}) {
      const auto error = caught(use);
      CHECK(error.kind == ErrorKind::environment);
      CHECK(error.says((folder / "x").string() + " is " + kind));
      CHECK(error.says("(uid "));
    }
    CHECK_FALSE(OwnedFolder::create_new(folder / "x"));
    CHECK(content(folder / "private" / "diary") == "mine");
  }
}

TEST_CASE("links above the name are the user's choice") {
  const Folder folder;
  fs::create_directory(folder / "real");
  fs::create_symlink("real", folder / "link");
  OwnedFolder::open_or_create(folder / "link" / "x").create("file");
  CHECK(fs::exists(folder / "real" / "x" / "file"));
}

TEST_CASE("a file with another name is neither appended to nor locked") {
  const Folder folder;
  put(folder / "private", "mine");
  fs::create_hard_link(folder / "private", folder / "x");
  CHECK(caught([&] { FileLock().try_lock(folder / "x"); }).says("2 names (hard links)"));
  for (const mode_t mode : {0777, 01777, 03775}) {
    REQUIRE(::chmod(folder.path().c_str(), mode) == 0);
    CHECK(caught([&] { File::open_append(folder / "x"); }).says("2 names (hard links)"));
    CHECK(caught([&] { File::open_append(folder / "x"); }).says("cp -al"));
  }
  File::create(folder / "x").write("new");
  CHECK(content(folder / "private") == "mine");
}

TEST_CASE("a copy of a run by cp -al shares its files, and is no obstacle") {
  const Folder folder;
  put(folder / "metrics.jsonl", "1");
  put(folder / "lock", "");
  for (const char* name : {"metrics.jsonl", "lock"})
    fs::create_hard_link(folder / name, folder / (name + std::string(".bak")));
  REQUIRE(::chmod(folder.path().c_str(), 0775) == 0);
  File::open_append(folder / "metrics.jsonl").write("2");
  CHECK(content(folder / "metrics.jsonl") == "12");
  FileLock lock;
  CHECK(lock.try_lock(folder / "lock", Owner::anyone) == FileLock::Outcome::acquired);
  REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
  CHECK(FileLock().try_lock(folder / "lock", Owner::anyone) == FileLock::Outcome::busy);
  CHECK(FileLock().try_lock_shared(folder / "lock") == FileLock::Outcome::busy);
}

TEST_CASE("other users may write to a folder of one's own where they may write to its parent") {
  const Mask mask(0);
  const Folder folder;
  const auto made_in = [&](mode_t parent) {
    REQUIRE(::chmod(folder.path().c_str(), parent) == 0);
    fs::remove(folder / "x");
    OwnedFolder::open_or_create(folder / "x");
    return mode_of(folder / "x");
  };
  CHECK(made_in(0755) == 0755);
  CHECK(made_in(0775) == 0775);
  CHECK(made_in(01777) == 0755);  // users that may write to such a folder have no say over others' names
  CHECK(made_in(0777) == 0777);
  REQUIRE(::chmod(folder.path().c_str(), 01777) == 0);
  const auto error = caught([&] { OwnedFolder::open_or_create(folder / "x"); });
  CHECK(error.kind == ErrorKind::environment);
  CHECK(error.says("other users may write to " + (folder / "x").string() + " (mode 0777)"));
  CHECK(error.says("chmod go-w"));
  REQUIRE(::chmod((folder / "x").c_str(), 0755) == 0);
  OwnedFolder::open_or_create(folder / "x", 0700);
  CHECK(mode_of(folder / "x") == 0700);
}

TEST_CASE("a lock is for those who may write to its folder") {
  const Mask mask(0);
  const Folder folder;
  const auto made_in = [&](mode_t parent, Owner owner) {
    REQUIRE(::chmod(folder.path().c_str(), parent) == 0);
    fs::remove(folder / "x");
    FileLock lock;
    CHECK(lock.try_lock(folder / "x", owner) == FileLock::Outcome::acquired);
    CHECK(folder.num_entries() == 1);
    return mode_of(folder / "x");
  };
  CHECK(made_in(0777, Owner::self) == 0600);
  CHECK(made_in(0755, Owner::anyone) == 0600);
  CHECK(made_in(0775, Owner::anyone) == 0660);
  CHECK(made_in(03775, Owner::anyone) == 0660);
  CHECK(made_in(0777, Owner::anyone) == 0666);
  CHECK(made_in(01757, Owner::anyone) == 0600);
  if (!is_root()) return;
  REQUIRE(::lchown(folder.path().c_str(), 0, 4243) == 0);  // chgrp without setgid
  CHECK(made_in(0775, Owner::anyone) == 0660);
  struct stat status {};
  REQUIRE(::stat((folder / "x").c_str(), &status) == 0);
  CHECK(status.st_gid == 4243);
}

TEST_CASE("a tree is removed without following links, and without what dt does not make") {
  const Folder folder;
  fs::create_directories(folder / "private");
  put(folder / "private" / "diary", "mine");
  fs::create_directories(folder / "x" / "inner");
  put(folder / "x" / "inner" / "a.h5", "");
  fs::create_symlink(folder / "private", folder / "x" / "link");
  fs::create_symlink(folder / "private", folder / "y");
  put(folder / "x" / "thesis.tex", "mine");
  const auto is_ours = [](const std::string& name) { return name != "thesis.tex"; };
  const OwnedFolder own = OwnedFolder::open(folder.path());
  CHECK(own.remove_tree("x", is_ours) ==
        (folder / "x" / "thesis.tex").string() + ": dt did not create this name");
  CHECK_FALSE(fs::exists(folder / "x" / "inner"));
  CHECK(own.remove_tree("x").empty());
  CHECK(own.remove_tree("y").empty());
  CHECK(remove_tree(folder / "y").empty());
  CHECK(content(folder / "private" / "diary") == "mine");
  CHECK(folder.num_entries() == 1);
}

TEST_CASE("a file that has taken a temporary one's place is not published") {
  const Folder folder;
  AtomicFile target(folder / "x");
  fs::remove(target.path());
  put(target.path(), "theirs");
  CHECK(caught([&] { target.commit(); }).says("was replaced"));
  CHECK_FALSE(fs::exists(folder / "x"));
  AtomicDirectory made(folder / "y");
  fs::rename(made.path(), folder / "moved");
  fs::create_directory(made.path());
  CHECK(caught([&] { made.commit(); }).says("was moved or replaced"));
  CHECK_FALSE(fs::exists(folder / "y"));
}
