#include "data/shard.hpp"

#include <catch2/catch.hpp>

#include "base/digest.hpp"
#include "base/hdf5_file.hpp"
#include "data/shard_writer.hpp"
#include "data/test_dataset.hpp"

using namespace dt;
using namespace dt::data;
using dt_test::caught;
using dt_test::damage;
using dt_test::Folder;

namespace {

const TokenizerInfo tokenizer = make_tokenizer("bytes")->info();

/// Writes documents of the given lengths, their tokens counting up from 0, into shards.
DatasetFile write_series(const fs::path& folder, std::uint64_t shard_tokens,
                         const std::vector<std::uint16_t>& lengths) {
  ShardPlanner planner(shard_tokens);
  for (const std::uint16_t length : lengths) {
    planner.begin_document();
    planner.advance(length);
  }
  ShardSeries series(folder, planner.finish(), tokenizer, DType::u16);
  std::uint16_t token = 0;
  for (const std::uint16_t length : lengths) {
    series.begin_document();
    std::vector<std::uint16_t> tokens(length);
    for (std::uint16_t& t : tokens) t = token++;
    series.append(std::as_bytes(std::span(tokens)));
  }
  DatasetFile dataset;
  dataset.tokenizer = tokenizer;
  series.finish(dataset);
  return dataset;
}

std::vector<std::uint64_t> offsets_of(const fs::path& shard) {
  return Hdf5Reader(shard).read_all<std::uint64_t>("/document_offsets");
}

using Offsets = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("shards hold what FORMATS.md says: offsets where documents begin, then the number of tokens") {
  const Folder folder;
  const DatasetFile dataset = write_series(folder.path(), 10, {3, 7, 4, 25, 1});
  REQUIRE(dataset.shards.size() == 4);
  CHECK(offsets_of(folder / "train-00000.h5") == Offsets{0, 3, 10});
  CHECK(offsets_of(folder / "train-00001.h5") == Offsets{0, 4, 10});
  CHECK(offsets_of(folder / "train-00002.h5") == Offsets{10});     // inside a document
  CHECK(offsets_of(folder / "train-00003.h5") == Offsets{9, 10});  // its end, and another one
  CHECK(dataset.shards[2].documents == 0);
  CHECK(dataset.split(Split::train).documents == 5);
  CHECK(dataset.split(Split::train).tokens == 40);

  const Hdf5Reader file(folder / "train-00001.h5");
  CHECK(file.string_attribute("/", "format") == "dt-token-shard");
  CHECK(file.int_attribute("/", "version") == 1);
  CHECK(file.string_attribute("/", "split") == "train");
  CHECK(file.string_attribute("/", "tokenizer") == "bytes");
  CHECK(file.int_attribute("/", "vocabulary_size") == 257);
  CHECK(file.int_attribute("/", "eos") == 256);
  CHECK(file.int_attribute("/", "num_tokens") == 10);
  CHECK(file.int_attribute("/", "num_documents") == 2);
  const auto tokens = file.read_all<std::uint16_t>("/tokens");
  CHECK(tokens == std::vector<std::uint16_t>{10, 11, 12, 13, 14, 15, 16, 17, 18, 19});
  CHECK(file.read_all<std::uint64_t>("/digests") == block_digests(std::as_bytes(std::span(tokens))));
  const Offsets offsets = {0, 4, 10};
  CHECK(file.string_attribute("/", "document_offsets_digest") ==
        to_hex(digest(std::as_bytes(std::span(offsets)))));
}

TEST_CASE("a shard gives any range of its tokens") {
  const Folder folder;
  write_series(folder.path(), 100, {50, 50});
  const Shard shard(folder / "train-00000.h5");
  std::vector<std::int32_t> tokens(30);
  shard.read(40, tokens);
  for (int i = 0; i < 30; ++i) CHECK(tokens[static_cast<std::size_t>(i)] == 40 + i);
  shard.read(100, {});
  CHECK_THROWS_AS(shard.read(71, tokens), Error);
}

TEST_CASE("an altered token is found when its block is read") {
  const Folder folder;
  write_series(folder.path(), 100, {50, 50});
  const fs::path path = folder / "train-00000.h5";
  damage(path, static_cast<std::int64_t>(Hdf5Reader(path).info("/tokens").offset) + 120);
  const Shard shard(path);
  std::vector<std::int32_t> tokens(1);
  const auto error = caught([&] { shard.read(0, tokens); });
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.says(path.string() + " is corrupt: the digest of block 0"));
}

TEST_CASE("altered document offsets are found") {
  const Folder folder;
  write_series(folder.path(), 100, {50, 50});
  const fs::path path = folder / "train-00000.h5";
  CHECK(Shard(path).document_offsets_problem().empty());
  damage(path, static_cast<std::int64_t>(Hdf5Reader(path).info("/document_offsets").offset) + 8);
  CHECK(Shard(path).document_offsets_problem() == "/document_offsets is corrupt: its digest differs");
}

TEST_CASE("what is no shard, or none of this version, is an input error that says so") {
  const Folder folder;
  dt_test::put(folder / "text", "hello");
  CHECK(caught([&] { Shard(folder / "text"); }).kind == ErrorKind::input);
  CHECK(caught([&] { Shard(folder / "none.h5"); }).kind == ErrorKind::input);
  for (const auto& [format, version] : {std::pair{"other", 1}, {"dt-token-shard", 2}}) {
    Hdf5Writer file(folder / "x.h5");
    file.attribute("/", "format", std::string(format));
    file.attribute("/", "version", std::int64_t{version});
    file.close();
    const auto error = caught([&] { Shard(folder / "x.h5"); });
    CHECK(error.kind == ErrorKind::input);
    CHECK(error.says(version == 2 ? "x.h5 is of version 2; this dt reads version 1"
                                  : "x.h5 is no token shard"));
  }
}

TEST_CASE("every truncation of a shard is noticed on opening it") {
  const Folder folder;
  const DatasetFile dataset = write_series(folder.path(), 1000, {500, 400});
  const fs::path whole = folder / "train-00000.h5";
  const std::string content = dt_test::content(whole);
  for (std::size_t size = 0; size < content.size(); size += 97) {
    dt_test::put(folder / "part.h5", content.substr(0, size));
    const auto error = caught([&] { Shard(folder / "part.h5").check_against(dataset.shards[0], tokenizer); });
    CHECK(error.kind == ErrorKind::input);
    CHECK(error.says("part.h5"));
  }
}
