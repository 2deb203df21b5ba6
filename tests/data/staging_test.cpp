#include "data/read/staging.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "base/error.hpp"
#include "base/hdf5/hdf5_file.hpp"
#include "data/staged_datasets.hpp"

using namespace dt;
using namespace dt::data;
using dt_test::caught;
using dt_test::Datasets;
using dt_test::stage;

namespace {

std::string text_in(const fs::path& folder) {
  return dt_test::text_of(TokenDataset(folder), Split::train);
}

}  // namespace

TEST_CASE("a copy holds what the original does, and is made once") {
  const Datasets datasets;
  StageRequest request = datasets.request();
  std::uint64_t copied = 0;
  request.progress = [&](std::uint64_t done, std::uint64_t total) {
    CHECK(total == datasets.bytes());
    copied = done;
  };
  const fs::path copy = stage(datasets / "a", request);
  CHECK(copied == datasets.bytes());
  CHECK(text_in(copy) == text_in(datasets / "a"));
  CHECK(dt_test::content(copy / "dataset.json") == dt_test::content(datasets / "a/dataset.json"));
  CHECK(fs::exists(copy / "tokenizer.json"));
  copied = 0;
  CHECK(stage(datasets / "a", request) == copy);
  CHECK(copied == 0);
  CHECK(datasets.stored().size() == 1);
}

TEST_CASE("an original that has changed gets another copy") {
  const Datasets datasets;
  const fs::path before = stage(datasets / "a", datasets.request());
  const fs::path shard = datasets / "a/train-00000.h5";
  fs::last_write_time(shard, fs::last_write_time(shard) + std::chrono::seconds(1));
  CHECK(stage(datasets / "a", datasets.request()) != before);
}

TEST_CASE("where copies may take no more, the least recently used goes") {
  const Datasets datasets;
  StageRequest request = datasets.request();
  request.limit_bytes = 2 * datasets.bytes();
  const fs::path a = stage(datasets / "a", request), b = stage(datasets / "b", request);
  fs::last_write_time(a, fs::last_write_time(a) - std::chrono::hours(1));
  fs::last_write_time(b, fs::last_write_time(b) - std::chrono::hours(2));
  CHECK(stage(datasets / "b", request) == b);  // now b was used last
  const fs::path c = stage(datasets / "c", request);
  CHECK_FALSE(fs::exists(a));
  CHECK(fs::exists(b));
  CHECK(fs::exists(c));
  CHECK(datasets.stored().size() == 2);
}

TEST_CASE("what is in use stays, and where there is no room nothing is begun") {
  const Datasets datasets;
  StageRequest request = datasets.request();
  request.limit_bytes = 2 * datasets.bytes() - 1;
  const StagedDataset used = stage_dataset(datasets / "a", request);
  const auto error = caught([&] { stage(datasets / "b", request); });
  CHECK(error.kind == ErrorKind::environment);
  CHECK(error.says("no space"));
  CHECK(fs::exists(used.folder));
  CHECK(datasets.stored().size() == 1);
  request.limit_bytes = 10;
  CHECK(caught([&] { stage(datasets / "c", request); }).says("of at most 10"));
  CHECK(fs::exists(used.folder));
}

TEST_CASE("nothing is removed for a dataset that could never fit") {
  const Datasets datasets;
  stage(datasets / "a", datasets.request());
  StageRequest request = datasets.request();
  request.limit_bytes = 10;
  CHECK(caught([&] { stage(datasets / "b", request); }).says("no space"));
  CHECK(datasets.stored().size() == 1);
}

TEST_CASE("nothing is removed if all unused copies would not be enough") {
  const Datasets datasets;
  StageRequest request = datasets.request();
  const fs::path unused = stage(datasets / "a", request);
  fs::last_write_time(unused, fs::last_write_time(unused) - std::chrono::hours(1));
  const StagedDataset used = stage_dataset(datasets / "b", request);
  request.limit_bytes = 2 * datasets.bytes() - 1;  // `used` and the new copy take more
  const auto error = caught([&] { stage(datasets / "c", request); });
  CHECK(error.kind == ErrorKind::environment);
  CHECK(error.says("no space"));
  CHECK(fs::exists(unused));
  CHECK(stage(datasets / "a", request) == unused);  // and the copy is not held
}

TEST_CASE("what crashes left goes before a copy is made, what others keep there stays") {
  const Datasets datasets;
  stage(datasets / "b", datasets.request());
  for (const char* name : {".dt-dataset-0123456789abcdef.tmp-host-12", ".dt-dataset-0123456789abcdef.removed",
                           "other", "dt-dataset-of-mine"}) {
    fs::create_directories(datasets.own() / name);
    dt_test::put(datasets.own() / name / "file", "x");
  }
  StageRequest request = datasets.request();
  request.limit_bytes = datasets.bytes();
  stage(datasets / "a", request);
  CHECK(datasets.stored().size() == 3);
  CHECK(fs::exists(datasets.own() / "other/file"));
  CHECK(fs::exists(datasets.own() / "dt-dataset-of-mine/file"));
}

TEST_CASE("a request to stop ends the copying and leaves nothing") {
  const Datasets datasets;
  StageRequest request = datasets.request();
  int asked = 0;
  request.stop = [&] { return ++asked > 3; };
  CHECK(caught([&] { stage(datasets / "a", request); }).kind == ErrorKind::environment);
  CHECK(datasets.stored().empty());
}

TEST_CASE("an original that is damaged gets no copy") {
  const Datasets datasets;
  const fs::path shard = datasets / "a/train-00001.h5";
  dt_test::damage(shard, static_cast<std::int64_t>(Hdf5Reader(shard).info("/tokens").offset));
  const auto error = caught([&] { stage(datasets / "a", datasets.request()); });
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.says("train-00001.h5"));
  CHECK(datasets.stored().empty());
}

TEST_CASE("of several that want the same copy at once, one makes it") {
  const Datasets datasets;
  std::atomic<std::uint64_t> beginnings = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      StageRequest request = datasets.request();
      bool has_begun = false;
      request.progress = [&](std::uint64_t, std::uint64_t) {
        if (!has_begun) ++beginnings;
        has_begun = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      };
      const StagedDataset staged = stage_dataset(datasets / "a", request);
      if (text_in(staged.folder) != text_in(datasets / "a")) beginnings += 100;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(beginnings == 1);
  CHECK(datasets.stored().size() == 1);
}

TEST_CASE("a wait for another process's copy can be stopped") {
  const Datasets datasets;
  const FileLock copying = datasets.locked();
  StageRequest request = datasets.request();
  int asked = 0;
  request.stop = [&] { return ++asked > 2; };
  CHECK(caught([&] { stage(datasets / "a", request); }).kind == ErrorKind::environment);
}

TEST_CASE("a wait for another process's copy ends if that makes no progress") {
  const Datasets datasets;
  const FileLock copying = datasets.locked();
  StageRequest request = datasets.request();
  request.patience = std::chrono::milliseconds(300);
  int asked = 0;
  request.stop = [&] {  // called each time before a pause of 50 ms
    if (++asked <= 10)
      fs::last_write_time(datasets.own() / "dt-stage.lock", fs::file_time_type::clock::now());
    return false;
  };
  const auto error = caught([&] { stage(datasets / "a", request); });
  CHECK(error.kind == ErrorKind::environment);
  CHECK(error.says("without copying anything"));
  CHECK(asked > 10);
}

TEST_CASE("a copy that is not whole is made anew") {
  const Datasets datasets;
  const fs::path copy = stage(datasets / "a", datasets.request());
  const std::string text = dt_test::content(copy / "dataset.json");
  SECTION("an empty folder") {
    for (const auto& entry : fs::directory_iterator(copy)) fs::remove(entry.path());
  }
  SECTION("a shard that is gone") {
    fs::remove(copy / "train-00001.h5");
  }
  SECTION("a shard of another size") {
    fs::resize_file(copy / "train-00001.h5", 100);
  }
  SECTION("a link in place of a shard") {
    fs::remove(copy / "train-00001.h5");
    fs::create_symlink(datasets / "a/train-00001.h5", copy / "train-00001.h5");
  }
  SECTION("another dataset.json") {
    std::string other = text;
    other.replace(other.find("dt-dataset"), 10, "dt-DATASET");
    dt_test::put(copy / "dataset.json", other);
  }
  SECTION("one that was discarded") {
    CHECK(discard_copy(copy));
    CHECK_FALSE(discard_copy(copy));
  }
  CHECK(stage(datasets / "a", datasets.request()) == copy);
  CHECK(dt_test::content(copy / "dataset.json") == text);
  CHECK(text_in(copy) == text_in(datasets / "a"));
  CHECK(datasets.stored().size() == 1);
}

TEST_CASE("a copy that is not whole stays where another process uses it") {
  const Datasets datasets;
  const StagedDataset used = stage_dataset(datasets / "a", datasets.request());
  discard_copy(used.folder);
  CHECK(caught([&] { stage(datasets / "a", datasets.request()); }).kind == ErrorKind::environment);
  CHECK(fs::exists(used.folder / "train-00000.h5"));
}

TEST_CASE("a copy is read until it is not what the original says") {
  const Datasets datasets;
  const fs::path copy = stage(datasets / "a", datasets.request());
  const fs::path shard = copy / "train-00001.h5";
  int told = 0;
  std::string why;
  const DatasetCopy read_from{copy, [&](const std::string& what) {
                                ++told;
                                why = what;
                              }};
  const auto place = static_cast<std::int64_t>(Hdf5Reader(shard).info("/tokens").offset);
  const auto read_all = [&] {
    return dt_test::text_of(TokenDataset(datasets / "a", {}, read_from), Split::train);
  };
  SECTION("as long as it is that") {
    dt_test::damage(datasets / "a/train-00001.h5", place);
    CHECK(read_all() == std::string(3500, 'a'));
    CHECK(told == 0);
    return;
  }
  SECTION("a block that is damaged") {
    dt_test::damage(shard, place);
  }
  SECTION("a shard of another dataset") {
    fs::copy_file(stage(datasets / "b", datasets.request()) / "train-00001.h5", shard,
                  fs::copy_options::overwrite_existing);
  }
  SECTION("a shard that is a link") {
    fs::remove(shard);
    fs::create_symlink(datasets / "a/train-00001.h5", shard);
  }
  SECTION("a shard that is gone") {
    fs::remove(shard);
  }
  SECTION("a shard of another user") {
    if (::geteuid() != 0) return;
    REQUIRE(::chown(shard.c_str(), 65534, 65534) == 0);
  }
  CHECK(read_all() == std::string(3500, 'a'));
  CHECK(told == 1);
  CHECK(why.find("train-00001.h5") != why.npos);
  const TokenDataset some(datasets / "a", {0, 4}, read_from);  // looks at the damaged shard later
  CHECK(dt_test::text_of(some, Split::train) == std::string(3500, 'a'));
  CHECK(told == 2);
}
