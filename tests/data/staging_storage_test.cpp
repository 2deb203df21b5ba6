#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "data/staged_datasets.hpp"

using namespace dt;
using namespace dt::data;
using dt_test::caught;
using dt_test::Datasets;
using dt_test::stage;

TEST_CASE("the folder of copies is its owner's alone") {
  const Datasets datasets;
  stage(datasets / "a", datasets.request());
  CHECK((fs::status(datasets.own()).permissions() & fs::perms::all) == fs::perms::owner_all);
  ::chmod(datasets.own().c_str(), 0755);
  stage(datasets / "a", datasets.request());
  CHECK((fs::status(datasets.own()).permissions() & fs::perms::all) == fs::perms::owner_all);
  ::chmod(datasets.own().c_str(), 0777);
  const auto error = caught([&] { stage(datasets / "a", datasets.request()); });
  CHECK(error.kind == ErrorKind::environment);
  CHECK(error.says("mode 0777"));
}

TEST_CASE("what lies in place of the folder of copies is neither followed nor waited for") {
  const Datasets datasets;
  const fs::path elsewhere = datasets / "elsewhere";
  fs::create_directories(elsewhere / ".dt-dataset-0123456789abcdef.removed");
  fs::create_directories(datasets.request().storage);
  SECTION("a link") {
    fs::create_directory_symlink(elsewhere, datasets.own());
  }
  SECTION("a link to nothing") {
    fs::create_symlink("nowhere", datasets.own());
  }
  SECTION("a pipe") {
    REQUIRE(::mkfifo(datasets.own().c_str(), 0666) == 0);
  }
  SECTION("a file") {
    dt_test::put(datasets.own(), "x");
  }
  const auto error = caught([&] { stage(datasets / "a", datasets.request()); });
  CHECK(error.kind == ErrorKind::environment);
  CHECK(error.says("expected a folder that you own"));
  CHECK(fs::exists(elsewhere / ".dt-dataset-0123456789abcdef.removed"));
}

TEST_CASE("what lies in place of a copy is neither followed nor waited for") {
  const Datasets datasets;
  const fs::path copy = stage(datasets / "a", datasets.request());
  fs::rename(copy, datasets / "moved");
  SECTION("a link") {
    fs::create_directory_symlink(datasets / "moved", copy);
  }
  SECTION("a pipe") {
    REQUIRE(::mkfifo(copy.c_str(), 0666) == 0);
  }
  const auto error = caught([&] { stage(datasets / "a", datasets.request()); });
  CHECK(error.kind == ErrorKind::environment);
  CHECK(fs::exists(datasets / "moved/dataset.json"));
}

TEST_CASE("storage in which everybody may exchange folders is refused") {
  const Datasets datasets;
  const fs::path storage = datasets.request().storage;
  fs::create_directories(storage);
  ::chmod(storage.c_str(), 0777);
  CHECK(caught([&] { stage(datasets / "a", datasets.request()); }).says("lets every user rename"));
  ::chmod(storage.c_str(), 01777);
  stage(datasets / "a", datasets.request());
}

TEST_CASE("a copy that another user made is left alone") {
  if (::geteuid() != 0) return;  // only root can give files to others
  const Datasets datasets;
  const uid_t other = 65534;
  const fs::path copy = stage(datasets / "a", datasets.request()), storage = datasets.request().storage;
  SECTION("in a folder of theirs") {
    REQUIRE(::chown(datasets.own().c_str(), other, other) == 0);
    const auto error = caught([&] { stage(datasets / "a", datasets.request()); });
    CHECK(error.kind == ErrorKind::environment);
    CHECK(error.says("uid 65534"));
    CHECK(fs::exists(copy / "dataset.json"));
  }
  SECTION("moved into the user's") {
    REQUIRE(::chown(copy.c_str(), other, other) == 0);
    CHECK(caught([&] { stage(datasets / "a", datasets.request()); }).kind == ErrorKind::environment);
    CHECK(fs::exists(copy / "dataset.json"));
  }
  SECTION("storage that is a link of theirs") {
    fs::create_directory_symlink(storage, datasets / "link");
    REQUIRE(::lchown((datasets / "link").c_str(), other, other) == 0);
    StageRequest request = datasets.request();
    request.storage = datasets / "link/";
    CHECK(caught([&] { stage(datasets / "a", request); }).says("is a symbolic link owned by"));
  }
  SECTION("storage of theirs in a folder of everybody") {
    ::chmod(storage.parent_path().c_str(), 01777);
    REQUIRE(::chown(storage.c_str(), other, other) == 0);
    CHECK(caught([&] { stage(datasets / "a", datasets.request()); }).says("is a folder owned by"));
  }
}
