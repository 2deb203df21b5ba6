#include "data/token_dataset.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/hdf5_file.hpp"
#include "data/test_dataset.hpp"
#include "data/verify_dataset.hpp"

using namespace dt;
using namespace dt::data;
using dt_test::caught;
using dt_test::content;
using dt_test::damage;
using dt_test::Folder;
using dt_test::make;
using dt_test::plain_options;
using dt_test::put;
using dt_test::tokens_of;

namespace {

/// A dataset of `size` bytes of text in `folder`/out; returns the text.
std::string make_sized(const Folder& folder, std::size_t size, std::uint64_t shard_tokens) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i * 2654435761 % 26);
  put(folder / "a", text);
  MakeOptions options = plain_options({folder / "a"});
  options.shard_tokens = shard_tokens;
  make(folder / "out", options);
  return text;
}

std::vector<std::string> problems_of(const fs::path& folder) {
  return verify_dataset(folder, [](std::uint64_t, std::uint64_t) {});
}

void change_json(const fs::path& path, const std::function<void(nlohmann::ordered_json&)>& change) {
  auto object = nlohmann::ordered_json::parse(content(path));
  change(object);
  put(path, object.dump());
}

std::string open_error(const fs::path& folder) {
  const auto error = caught([&] { TokenDataset opened(folder); });
  CHECK(error.kind == ErrorKind::input);
  return error.message;
}

using Catch::Matchers::Contains;

}  // namespace

TEST_CASE("tokens are read across shards from any place") {
  const Folder folder;
  const std::string text = make_sized(folder, 1000, 64);
  const TokenDataset dataset(folder / "out");
  CHECK(dataset.folder() == folder / "out");
  for (const std::size_t begin : {0u, 1u, 63u, 64u, 65u, 500u, 999u, 1000u}) {
    for (const std::size_t count : {0u, 1u, 64u, 65u, 500u}) {
      if (begin + count > text.size()) continue;
      std::vector<std::int32_t> tokens(count);
      dataset.read(Split::train, begin, tokens);
      CHECK(std::equal(tokens.begin(), tokens.end(), text.begin() + static_cast<std::ptrdiff_t>(begin)));
    }
  }
  std::vector<std::int32_t> tokens(2);
  CHECK_THROWS_AS(dataset.read(Split::train, 999, tokens), Error);
  CHECK_THROWS_AS(dataset.read(Split::validation, 0, tokens), Error);
}

TEST_CASE("digests are taken per 16 MiB block and verified only where a read touches") {
  const Folder folder;
  const std::string text = make_sized(folder, 20'000'000, 1 << 30);  // 40 MB of tokens: three blocks
  const fs::path shard = folder / "out/train-00000.h5";
  const DatasetInfo info = Hdf5Reader(shard).info("/tokens");
  REQUIRE(Hdf5Reader(shard).info("/digests").shape == std::vector<std::uint64_t>{3});
  damage(shard, static_cast<std::int64_t>(info.offset) + 17'000'000);  // in block 1

  const TokenDataset dataset(folder / "out");
  std::vector<std::int32_t> tokens(100);
  dataset.read(Split::train, 8'388'608 - 100, tokens);  // the last of block 0
  dataset.read(Split::train, 16'777'216, tokens);       // the first of block 2
  const auto error = caught([&] { dataset.read(Split::train, 8'388'608 - 99, tokens); });
  CHECK(error.says("the digest of block 1 of its tokens differs"));
  CHECK(problems_of(folder / "out").size() == 1);
  CHECK_THAT(problems_of(folder / "out").at(0), Contains("train-00000.h5: is corrupt"));
}

TEST_CASE("several threads may open and read at once") {
  const Folder folder;
  const std::string text = make_sized(folder, 100000, 1000);
  std::vector<std::thread> threads;
  std::atomic<int> num_right = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const TokenDataset dataset(folder / "out");
      const auto tokens = tokens_of(dataset, Split::train);
      num_right += std::equal(tokens.begin(), tokens.end(), text.begin(), text.end()) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(num_right == 4);
}

TEST_CASE("what is missing, of another version or damaged is named on opening") {
  const Folder folder;
  make_sized(folder, 150, 50);
  const fs::path out = folder / "out";
  const std::string json = content(out / "dataset.json");
  const std::string shard = content(out / "train-00001.h5");

  CHECK_THAT(open_error(folder / "none"), Contains("none"));
  CHECK_THAT(open_error(folder.path()), Contains("holds no dataset.json"));
  change_json(out / "dataset.json", [](auto& object) { object["version"] = 7; });
  CHECK_THAT(open_error(out), Contains("dataset.json is of version 7; this dt reads version 1"));
  put(out / "dataset.json", json.substr(0, json.size() / 2));
  CHECK_THAT(open_error(out), Contains("dataset.json is damaged"));
  put(out / "dataset.json", json);
  change_json(out / "dataset.json", [](auto& object) { object.erase("splits"); });
  CHECK_THAT(open_error(out), Contains("dataset.json is damaged: key 'splits' not found"));
  put(out / "dataset.json", json);

  put(out / "train-00001.h5", shard.substr(0, shard.size() - 1));
  CHECK_THAT(open_error(out), Contains("train-00001.h5"));
  put(out / "train-00001.h5", content(out / "train-00002.h5"));  // whole, but another one
  CHECK_THAT(open_error(out), Contains("train-00001.h5: its digest is not what dataset.json says"));
  fs::remove(out / "train-00001.h5");
  CHECK_THAT(open_error(out), Contains("train-00001.h5: No such file"));
}

TEST_CASE("verification lists everything that is wrong") {
  const Folder folder;
  make_sized(folder, 200, 50);
  const fs::path out = folder / "out";
  REQUIRE(problems_of(out).empty());
  damage(out / "tokenizer.json", 20);
  damage(out / "train-00002.h5",
         static_cast<std::int64_t>(Hdf5Reader(out / "train-00002.h5").info("/tokens").offset));
  fs::remove(out / "train-00003.h5");
  put(out / "train-00009.h5", "");
  const auto problems = problems_of(out);
  REQUIRE(problems.size() == 4);
  CHECK_THAT(problems[0], Contains("tokenizer.json: its digest is not what dataset.json says"));
  CHECK_THAT(problems[1], Contains("train-00009.h5: dataset.json does not list it"));
  CHECK_THAT(problems[2], Contains("train-00002.h5: is corrupt"));
  CHECK_THAT(problems[3], Contains("train-00003.h5"));
}

TEST_CASE("verification finds shards in another order, and a damaged dataset.json") {
  const Folder folder;
  make_sized(folder, 100, 50);
  const fs::path json = folder / "out/dataset.json";
  change_json(json, [](auto& object) { std::swap(object["shards"][0], object["shards"][1]); });
  CHECK_THAT(problems_of(folder / "out").at(0),
             Contains("the digest of the train split is not that of its tokens"));
  change_json(json, [](auto& object) { object["tokens"] = 99; });
  CHECK_THAT(problems_of(folder / "out").at(0), Contains("its totals differ"));
  fs::remove(json);
  CHECK(caught([&] { problems_of(folder / "out"); }).kind == ErrorKind::input);
}
