#include "data/staging.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "base/error.hpp"
#include "base/hdf5_file.hpp"
#include "data/test_dataset.hpp"

using namespace dt;
using namespace dt::data;
using dt_test::caught;

namespace {

/// Datasets a, b, c of some kilobytes, in shards of 1000 tokens.
struct Datasets : dt_test::Folder {
  Datasets() {
    for (const char* name : {"a", "b", "c"}) {
      dt_test::put(*this / (std::string(name) + ".txt"), std::string(3500, *name));
      auto options = dt_test::plain_options({*this / (std::string(name) + ".txt")});
      options.shard_tokens = 1000;
      dt_test::make(*this / name, options);
    }
  }
  StageRequest request() const { return {*this / "local/stage", {}, {}, {}}; }
  std::uint64_t bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(*this / "a")) bytes += entry.file_size();
    return bytes;
  }
  /// Names in the storage, the lock's aside.
  std::vector<std::string> stored() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(*this / "local/stage")) {
      if (entry.path().extension() != ".lock") names.push_back(entry.path().filename().string());
    }
    return names;
  }
};

std::string text_in(const fs::path& folder) {
  return dt_test::text_of(TokenDataset(folder), Split::train);
}

/// Makes the copy and no longer uses it.
fs::path stage(const fs::path& dataset, const StageRequest& request) {
  return stage_dataset(dataset, request).folder;
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
  CHECK(stage(datasets / "b", request) == b);  // now it has been used last
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
  CHECK(error.says("no room"));
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
  CHECK(caught([&] { stage(datasets / "b", request); }).says("no room"));
  CHECK(datasets.stored().size() == 1);
}

TEST_CASE("nothing is removed where all that nobody uses would not be enough") {
  const Datasets datasets;
  StageRequest request = datasets.request();
  const fs::path unused = stage(datasets / "a", request);
  fs::last_write_time(unused, fs::last_write_time(unused) - std::chrono::hours(1));
  const StagedDataset used = stage_dataset(datasets / "b", request);
  request.limit_bytes = 2 * datasets.bytes() - 1;  // `used` and the new one take more
  const auto error = caught([&] { stage(datasets / "c", request); });
  CHECK(error.kind == ErrorKind::environment);
  CHECK(error.says("no room"));
  CHECK(fs::exists(unused));
  CHECK(stage(datasets / "a", request) == unused);  // and it is not held
}

TEST_CASE("what crashes left goes before a copy is made, what others keep there stays") {
  const Datasets datasets;
  const fs::path storage = datasets.request().storage;
  for (const char* name :
       {".dt-dataset-0123456789abcdef.tmp-host-12", ".dt-dataset-0123456789abcdef.removed", "other"}) {
    fs::create_directories(storage / name);
    dt_test::put(storage / name / "file", "x");
  }
  stage(datasets / "a", datasets.request());
  CHECK(datasets.stored().size() == 2);
  CHECK(fs::exists(storage / "other/file"));
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

TEST_CASE("who waits for another's copy can be stopped") {
  const Datasets datasets;
  fs::create_directories(datasets.request().storage);
  FileLock copying;
  REQUIRE(copying.try_lock(datasets.request().storage / "dt-stage.lock") == FileLock::Outcome::held);
  StageRequest request = datasets.request();
  int asked = 0;
  request.stop = [&] { return ++asked > 2; };
  CHECK(caught([&] { stage(datasets / "a", request); }).kind == ErrorKind::environment);
}
