#include <catch2/catch.hpp>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/io/owned_folder.hpp"
#include "base/io/permissions.hpp"
#include "base/test_folder.hpp"

using namespace dt;
using dt_test::caught;
using dt_test::content;
using dt_test::Folder;
using dt_test::put;

namespace {

constexpr uid_t other_user = 4242;

bool is_root() {
  return ::geteuid() == 0;
}

/// Gives the name, and what is in it, to another user; only root can.
void give_away(const fs::path& path) {
  REQUIRE(::lchown(path.c_str(), other_user, other_user) == 0);
}

void give_back(const fs::path& path) {
  REQUIRE(::lchown(path.c_str(), ::geteuid(), ::getegid()) == 0);
}

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

TEST_CASE("folders and files of another user are refused") {
  if (!is_root()) return;
  const Folder folder;
  fs::create_directory(folder / "x");
  put(folder / "file", "theirs");
  give_away(folder / "x");
  give_away(folder / "file");
  const auto error = caught([&] { OwnedFolder::open_or_create(folder / "x"); });
  CHECK(error.kind == ErrorKind::environment);
  CHECK(error.says("x is a folder of uid 4242; a folder of your own is expected there"));
  CHECK(error.says("remove it"));
  CHECK(caught([&] { FileLock().try_lock(folder / "file"); }).says("of uid 4242"));
  CHECK(caught([&] { File::create(folder / "file"); }).says("of uid 4242"));
  FileLock lock;
  CHECK(lock.try_lock(folder / "file", Owner::anyone) == FileLock::Outcome::acquired);
  // Users that may write to the folder are trusted with its lines.
  File::open_append(folder / "file").write("!");
  CHECK(content(folder / "file") == "theirs!");
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

TEST_CASE("others may write to a folder of one's own where they may write to its parent") {
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
  CHECK(error.says("others may write to " + (folder / "x").string() + " (mode 0777)"));
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
  CHECK(own.remove_tree("x", is_ours) == (folder / "x" / "thesis.tex").string() + ": dt makes no such name");
  CHECK_FALSE(fs::exists(folder / "x" / "inner"));
  CHECK(own.remove_tree("x").empty());
  CHECK(own.remove_tree("y").empty());
  CHECK(remove_tree(folder / "y").empty());
  CHECK(content(folder / "private" / "diary") == "mine");
  CHECK(folder.num_entries() == 1);
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
  CHECK(caught([&] { AtomicDirectory made(folder / "x"); }).says("x is a folder of uid 4242"));
  give_back(folder / "x");
  AtomicDirectory made(folder / "x");
  give_away(folder / "x");
  CHECK(caught([&] { made.commit(true); }).says("x is a folder of uid 4242"));
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
    CHECK(caught([&] { AtomicDirectory made(folder / "x"); }).says("x is a folder of uid 4243"));
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
    CHECK(caught([&] { refuse_untrusted_path(folder / name); }).says("of uid 4243"));
  }
  CHECK(caught([&] { create_folders(folder / "link"); }).says("is a symbolic link of uid 4243"));
  CHECK(caught([&] { write_file_atomically(folder / "pipe", "x"); }).says("is a named pipe of uid 4243"));
  CHECK(caught([&] { File::open_write(folder / "pipe"); }).says("is a named pipe of uid 4243"));
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
    CHECK(caught([&] { refuse_untrusted_path(folder / path); }).says("theirs is a folder of uid 4242"));
    CHECK(caught([&] { make_private_storage(folder / path); }).says("theirs is a folder of uid 4242"));
  }
  CHECK_FALSE(fs::exists(folder / "theirs" / "deep" / "new"));
  const fs::path before = fs::current_path();
  for (const auto& [current, path] : {std::pair(".", "theirs/deep"), std::pair("own", "../theirs/deep"),
                                      std::pair("own", "link"), std::pair("theirs/deep", "run")}) {
    fs::current_path(folder / current);
    CHECK(caught([&] { refuse_untrusted_path(path); }).says("theirs is a folder of uid 4242"));
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

TEST_CASE("who else may write to a folder is told") {
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

TEST_CASE("a file that has taken a temporary one's place is not published") {
  const Folder folder;
  AtomicFile target(folder / "x");
  fs::remove(target.path());
  put(target.path(), "theirs");
  CHECK(caught([&] { target.commit(); }).says("has been replaced"));
  CHECK_FALSE(fs::exists(folder / "x"));
  AtomicDirectory made(folder / "y");
  fs::rename(made.path(), folder / "moved");
  fs::create_directory(made.path());
  CHECK(caught([&] { made.commit(); }).says("has been moved or replaced"));
  CHECK_FALSE(fs::exists(folder / "y"));
}
