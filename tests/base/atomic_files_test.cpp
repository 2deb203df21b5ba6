#include "base/io/atomic_files.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "base/test_folder.hpp"

using namespace dt;
using dt_test::caught;
using dt_test::content;
using dt_test::Folder;
using dt_test::put;

TEST_CASE("an atomic write replaces the whole file and leaves nothing else") {
  const Folder folder;
  write_file_atomically(folder / "a.json", "old and long");
  write_file_atomically(folder / "a.json", "new");
  CHECK(content(folder / "a.json") == "new");
  CHECK(folder.num_entries() == 1);
}

TEST_CASE("an atomic write makes the folders above it") {
  const Folder folder;
  write_file_atomically(folder / "a" / "b" / "c", "x");
  CHECK(content(folder / "a" / "b" / "c") == "x");
  put(folder / "file", "");
  const auto error = caught([&] { write_file_atomically(folder / "file" / "c", "x"); });
  CHECK(error.kind == ErrorKind::environment);
  CHECK(error.says((folder / "file").string()));
}

TEST_CASE("a pipe is written to, or refused, but not replaced") {
  const Folder folder;
  const fs::path pipe = folder / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  std::string arrived;
  std::thread reader([&] { arrived = content(pipe); });
  write_file_atomically(pipe, "x");
  reader.join();
  CHECK(arrived == "x");
  CHECK(fs::is_fifo(pipe));
  fs::create_symlink("pipe", folder / "link");
  for (const fs::path& name : {pipe, folder / "link"}) {
    const auto error = caught([&] { AtomicFile{name}; });
    CHECK(error.kind == ErrorKind::environment);
    CHECK(error.says("pipe"));
  }
  CHECK(folder.num_entries() == 2);
}

TEST_CASE("a pipe or a link to one that another user made is not written to") {
  if (::geteuid() != 0) return;  // only root can give files to others
  const Folder folder;
  const fs::path planted = folder / "planted";
  SECTION("a pipe") {
    REQUIRE(mkfifo(planted.c_str(), 0666) == 0);
  }
  SECTION("a link") {
    fs::create_symlink("/dev/null", planted);
  }
  REQUIRE(lchown(planted.c_str(), 65534, 65534) == 0);
  const auto error = caught([&] { write_file_atomically(planted, "secret"); });
  CHECK(error.kind == ErrorKind::environment);
  CHECK(error.says("uid 65534"));
}

TEST_CASE("files are created with the user's mask") {
  const Folder folder;
  const mode_t mask = umask(027);
  write_file_atomically(folder / "a", "x");
  {
    AtomicDirectory d(folder / "d");
    d.commit();
  }
  umask(mask);
  CHECK((fs::status(folder / "a").permissions() & fs::perms::all) == fs::perms(0640));
  CHECK((fs::status(folder / "d").permissions() & fs::perms::all) == fs::perms(0750));
}

TEST_CASE("exclusive creation succeeds once") {
  const Folder folder;
  CHECK(create_file_exclusively(folder / "g" / "0001.json", "first"));
  CHECK_FALSE(create_file_exclusively(folder / "g" / "0001.json", "second"));
  CHECK(content(folder / "g" / "0001.json") == "first");
  CHECK(std::distance(fs::directory_iterator(folder / "g"), fs::directory_iterator()) == 1);
}

TEST_CASE("of many that create a file at once, one succeeds and its content is whole") {
  const Folder folder;
  for (int round = 0; round < 20; ++round) {
    const fs::path path = folder / std::to_string(round);
    std::atomic<int> winner = -1;
    std::atomic<int> num_winners = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        if (!create_file_exclusively(path, std::string(1000, static_cast<char>('a' + i)))) return;
        winner = i;
        ++num_winners;
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(num_winners == 1);
    CHECK(content(path) == std::string(1000, static_cast<char>('a' + winner)));
  }
  CHECK(folder.num_entries() == 20);
}

TEST_CASE("a folder appears whole, under its final name, on commit") {
  const Folder folder;
  {
    AtomicDirectory target(folder / "out" / "step-1");
    put(target.path() / "a", "1");
    fs::create_directories(target.path() / "sub" / "deep");
    put(target.path() / "sub" / "deep" / "b", "2");
    CHECK_FALSE(fs::exists(folder / "out" / "step-1"));
    CHECK(target.path().filename().string().starts_with(".step-1.tmp-"));
    target.commit();
  }
  CHECK(content(folder / "out" / "step-1" / "sub" / "deep" / "b") == "2");
  CHECK(std::distance(fs::directory_iterator(folder / "out"), fs::directory_iterator()) == 1);
}

TEST_CASE("a folder that is not committed leaves nothing") {
  const Folder folder;
  {
    AtomicDirectory target(folder / "x");
    put(target.path() / "a", "1");
  }
  {
    AtomicFile target(folder / "y.h5");
    put(target.path(), "1");
  }
  CHECK(folder.num_entries() == 0);
}

TEST_CASE("an existing folder is refused or, on demand, replaced") {
  const Folder folder;
  fs::create_directory(folder / "x");
  put(folder / "x" / "old", "1");
  {
    AtomicDirectory target(folder / "x");
    const auto error = caught([&] { target.commit(); });
    CHECK(error.kind == ErrorKind::input);
    CHECK(error.says((folder / "x").string() + " already exists"));
  }
  AtomicDirectory target(folder / "x");
  put(target.path() / "new", "2");
  target.commit(true);
  CHECK(fs::exists(folder / "x" / "new"));
  CHECK_FALSE(fs::exists(folder / "x" / "old"));
  CHECK(folder.num_entries() == 1);
  AtomicDirectory fresh(folder / "z");
  fresh.commit(true);
  CHECK(fs::is_directory(folder / "z"));
}

TEST_CASE("a final name with a trailing slash is the same name") {
  const Folder folder;
  AtomicDirectory target(fs::path(folder.path().string() + "/x/"));
  target.commit();
  CHECK(fs::is_directory(folder / "x"));
  for (const char* name : {"", "/", ".", "a/.."}) {
    INFO(name);
    CHECK(caught([&] { AtomicDirectory refused{fs::path(name)}; }).kind == ErrorKind::input);
  }
}

TEST_CASE("several temporaries of one name live side by side") {
  const Folder folder;
  AtomicFile a(folder / "m.h5");
  AtomicFile b(folder / "m.h5");
  CHECK(a.path() != b.path());
  CHECK(a.path().extension() == ".h5");
  put(a.path(), "a");
  put(b.path(), "b");
  a.commit();
  CHECK(caught([&] { b.commit(); }).kind == ErrorKind::input);
  b.commit(true);
  CHECK(content(folder / "m.h5") == "b");
}

TEST_CASE("a long name leaves room for the temporary one") {
  const Folder folder;
  write_file_atomically(folder / std::string(250, 'n'), "x");
  CHECK(content(folder / std::string(250, 'n')) == "x");
  const auto error = caught([&] { write_file_atomically(folder / std::string(256, 'n'), "x"); });
  CHECK(error.kind == ErrorKind::environment);
  CHECK(error.says("shorter name"));
}

TEST_CASE("links inside a folder are kept and not followed") {
  const Folder folder;
  AtomicDirectory target(folder / "x");
  fs::create_symlink("/nowhere", target.path() / "dangling");
  target.commit();
  CHECK(fs::is_symlink(folder / "x" / "dangling"));
}
