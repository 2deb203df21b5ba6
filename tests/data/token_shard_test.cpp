#include "data/read/token_shard.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <numeric>

#include "base/hdf5/hdf5_file.hpp"
#include "base/io/atomic_files.hpp"
#include "base/numeric/digest.hpp"
#include "data/build/shard_writer.hpp"
#include "data/read/verify_dataset.hpp"
#include "data/test_dataset.hpp"
#include "support/hdf5_reference.hpp"

using namespace dt;
using namespace dt::data;
using dt_test::caught;
using dt_test::damage;
using dt_test::Folder;

namespace {

/// Returns one digest per block of digest_block_bytes. The last block may be short.
std::vector<std::uint64_t> block_digests(std::span<const std::byte> bytes) {
  std::vector<std::uint64_t> digests;
  digests.reserve(bytes.size() / digest_block_bytes + 1);
  for (std::size_t begin = 0; begin < bytes.size(); begin += digest_block_bytes) {
    digests.push_back(digest(bytes.subspan(begin, std::min(digest_block_bytes, bytes.size() - begin))));
  }
  return digests;
}

const TokenizerIdentity tokenizer = make_tokenizer("bytes")->info();

/// Returns an open file of the numbers from 0 to 65535, repeated as often as needed. Its name is removed.
std::shared_ptr<const File> counting_tokens(const fs::path& path, std::uint64_t count) {
  std::vector<std::uint16_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), std::uint16_t{0});
  write_file_atomically(path, {reinterpret_cast<const char*>(tokens.data()), 2 * tokens.size()});
  const auto file = std::make_shared<const File>(File::open_read(path));
  fs::remove(path);
  return file;
}

/// Writes documents of the given lengths into shards; their tokens count up from 0.
DatasetFile write_series(const fs::path& folder, std::uint64_t shard_tokens,
                         const std::vector<std::uint64_t>& lengths, int num_threads = 2) {
  ShardPlanner planner(Split::train, shard_tokens);
  for (const std::uint64_t length : lengths) {
    planner.begin_document();
    planner.advance(length);
  }
  ShardSeries series(folder, planner.finish(), tokenizer, {DType::u16}, num_threads);
  const auto tokens = counting_tokens(folder / "tokens", std::reduce(lengths.begin(), lengths.end()));
  std::uint64_t offset = 0;
  for (const std::uint64_t length : lengths) {
    series.begin_document();
    series.append({tokens, offset, 2 * length});
    offset += 2 * length;
  }
  DatasetFile dataset;
  dataset.tokenizer = tokenizer;
  series.finish(Split::train, dataset);
  return dataset;
}

std::vector<std::uint64_t> offsets_of(const fs::path& shard) {
  return Hdf5Reader(shard).read_all<std::uint64_t>("/document_offsets");
}

using Offsets = std::vector<std::uint64_t>;

/// The contents of a shard made by hand; the digests are those of its contents.
template <class Offset = std::uint64_t, class Token = std::uint16_t>
struct Made {
  std::vector<Offset> offsets = {0, 10};
  std::vector<Token> tokens = std::vector<Token>(10);
  std::map<std::string, std::string> texts = {{"format", shard_format},
                                              {"split", "train"},
                                              {"tokenizer", "bytes"},
                                              {"tokenizer_digest", "0000000000000000"},
                                              {"document_offsets_digest", ""}};
  std::map<std::string, std::int64_t> numbers = {{"version", shard_version},
                                                 {"vocabulary_size", 257},
                                                 {"eos", 256},
                                                 {"num_tokens", -1},
                                                 {"num_documents", -1}};

  void write(const fs::path& path) const {
    const auto offset_bytes = std::as_bytes(std::span(offsets)),
               token_bytes = std::as_bytes(std::span(tokens));
    const auto digests = block_digests(token_bytes);
    Hdf5Writer file(path);
    file.declare("/tokens", dtype_of<Token>(), {tokens.size()});
    file.declare("/document_offsets", dtype_of<Offset>(), {offsets.size()});
    file.declare("/digests", DType::u64, {digests.size()});
    for (const auto& [name, value] : texts)
      file.set_attribute("/", name, value.empty() ? to_hex(digest(offset_bytes)) : value);
    for (const auto& [name, value] : numbers) {
      const std::int64_t count = name == "num_tokens" ? std::ssize(tokens) : std::ssize(offsets) - 1;
      file.set_attribute("/", name, value == -1 && name.starts_with("num_") ? count : value);
    }
    file.end_declarations();
    file.write("/tokens", 0, token_bytes);
    file.write("/document_offsets", 0, offset_bytes);
    file.write("/digests", 0, std::as_bytes(std::span(digests)));
    file.close();
  }
};

}  // namespace

TEST_CASE("shards hold what FORMATS.md says: offsets where documents begin, then the number of tokens") {
  const Folder folder;
  const DatasetFile dataset = write_series(folder.path(), 10, {3, 7, 4, 25, 1});
  REQUIRE(dataset.shards.size() == 4);
  CHECK(offsets_of(folder / "train-00000.h5") == Offsets{0, 3, 10});
  CHECK(offsets_of(folder / "train-00001.h5") == Offsets{0, 4, 10});
  CHECK(offsets_of(folder / "train-00002.h5") == Offsets{10});     // inside a document
  CHECK(offsets_of(folder / "train-00003.h5") == Offsets{9, 10});  // one document's end, another one
  CHECK(dataset.shards[2].documents == 0);
  CHECK(dataset.split(Split::train).documents == 5);
  CHECK(dataset.split(Split::train).tokens == 40);

  CHECK(dt_test::hdf5_difference(folder / "train-00001.h5") == "");
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

TEST_CASE("shards of several digest blocks are the same, however many threads copy them") {
  const Folder folder;
  const std::vector<std::uint64_t> lengths = {5'000'001, 1, 16'000'000, 12'345'678};
  for (const int num_threads : {1, 2, 5}) {
    const DatasetFile dataset = write_series(folder.path(), 20'000'000, lengths, num_threads);
    Digester digester;
    for (std::uint16_t shard = 0, next = 0; shard < 2; ++shard) {
      const Hdf5Reader file(folder / dataset.shards.at(shard).file);
      const auto tokens = file.read_all<std::uint16_t>("/tokens");
      for (const std::uint16_t token : tokens) {
        if (token != next++) FAIL("token " << next << " of shard " << shard);
      }
      CHECK(file.read_all<std::uint64_t>("/digests") == block_digests(std::as_bytes(std::span(tokens))));
      digester.update(std::as_bytes(std::span(tokens)));
    }
    CHECK(dataset.split(Split::train).digest == digester.value());
    fs::remove(folder / "train-00000.h5");
    fs::remove(folder / "train-00001.h5");
  }
}

TEST_CASE("a shard gives any range of its tokens") {
  const Folder folder;
  write_series(folder.path(), 100, {50, 50});
  const TokenShard shard(folder / "train-00000.h5");
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
  const TokenShard shard(path);
  std::vector<std::int32_t> tokens(1);
  const auto error = caught([&] { shard.read(0, tokens); });
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.says(path.string() + " is corrupt: block 0 of its tokens"));
}

TEST_CASE("altered document offsets are found") {
  const Folder folder;
  write_series(folder.path(), 100, {50, 50});
  const fs::path path = folder / "train-00000.h5";
  CHECK(TokenShard(path).document_offsets_problem().empty());
  damage(path, static_cast<std::int64_t>(Hdf5Reader(path).info("/document_offsets").offset) + 8);
  CHECK(TokenShard(path).document_offsets_problem() ==
        "/document_offsets is corrupt: it does not match its digest");
}

TEST_CASE("a shard tells which documents begin within any range of its tokens") {
  const Folder folder;
  write_series(folder.path(), 10, {3, 7, 4, 25, 1});
  const TokenShard shard(folder / "train-00001.h5");  // documents begin at tokens 0 and 4
  CHECK(shard.document_starts(0, 10) == Offsets{0, 4});
  CHECK(shard.document_starts(0, 4) == Offsets{0});
  CHECK(shard.document_starts(1, 4) == Offsets{});
  CHECK(shard.document_starts(4, 5) == Offsets{4});
  CHECK(shard.document_starts(4, 4) == Offsets{});
  CHECK(shard.document_starts(5, 10) == Offsets{});
  CHECK(TokenShard(folder / "train-00002.h5").document_starts(0, 10) == Offsets{});  // inside a document
  CHECK_THROWS_AS(shard.document_starts(5, 11), Error);
  CHECK_THROWS_AS(shard.document_starts(5, 4), Error);
}

TEST_CASE("document offsets that mean nothing are an input error, though their digest is right") {
  const Folder folder;
  const auto problem_with = [&](const Offsets& offsets) {
    Made<>{.offsets = offsets}.write(folder / "x.h5");
    const TokenShard shard(folder / "x.h5");
    const auto error = caught([&] { shard.document_starts(0, 1); });
    CHECK(error.kind == (error.thrown ? ErrorKind::input : ErrorKind::internal));
    return error.message;
  };
  const std::string name = (folder / "x.h5").string();
  const std::string remedy = "; make the dataset again, or restore the file from a copy";
  CHECK(problem_with({0, 4, 10}).empty());
  CHECK(problem_with({0, 4, 3, 10}) == name + ": /document_offsets is not strictly increasing" + remedy);
  CHECK(problem_with({0, 4, 4, 10}) ==
        name + ": /document_offsets is not strictly increasing" + remedy);  // an empty document
  CHECK(problem_with({0, 11, 10}) == name + ": /document_offsets is not strictly increasing" + remedy);
  CHECK(problem_with({0, 4, 11}) ==
        name + ": /document_offsets does not end at the number of tokens" + remedy);
  CHECK(problem_with({0, 4}) == name + ": /document_offsets does not end at the number of tokens" + remedy);
  Made<std::uint32_t>().write(folder / "x.h5");
  CHECK(caught([&] {
          TokenShard(folder / "x.h5");
        }).says("/document_offsets holds u32 elements; expected u64"));
}

TEST_CASE("what is no shard, or none of this version, is an input error that says so") {
  const Folder folder;
  dt_test::put(folder / "text", "hello");
  CHECK(caught([&] { TokenShard(folder / "text"); }).kind == ErrorKind::input);
  CHECK(caught([&] { TokenShard(folder / "none.h5"); }).kind == ErrorKind::input);
  for (const auto& [format, version] : {std::pair{"other", 1}, {"dt-token-shard", 3}}) {
    Hdf5Writer file(folder / "x.h5");
    file.set_attribute("/", "format", std::string(format));
    file.set_attribute("/", "version", std::int64_t{version});
    file.close();
    const auto error = caught([&] { TokenShard(folder / "x.h5"); });
    CHECK(error.kind == ErrorKind::input);
    CHECK(error.says(version == 3 ? "x.h5 has version 3; this dt reads versions 1 and 2"
                                  : "x.h5 is not a token shard"));
  }
}

TEST_CASE("every truncation of a shard is noticed on opening it") {
  const Folder folder;
  const DatasetFile dataset = write_series(folder.path(), 1000, {500, 400});
  const fs::path whole = folder / "train-00000.h5";
  const std::string content = dt_test::content(whole);
  for (std::size_t size = 0; size < content.size(); size += 97) {
    dt_test::put(folder / "part.h5", content.substr(0, size));
    const auto error =
        caught([&] { TokenShard(folder / "part.h5").check_against(dataset.shards[0], tokenizer); });
    CHECK(error.kind == ErrorKind::input);
    CHECK(error.says("part.h5"));
  }
}

TEST_CASE("hostile values of a shard's header are an input error that names file and attribute") {
  const Folder folder;
  const fs::path path = folder / "x.h5";
  const auto error_of = [&](const auto& change) {
    Made<> made;
    change(made);
    made.write(path);
    const auto error = caught([&] { TokenShard opened(path); });
    CHECK(error.kind == ErrorKind::input);
    CHECK(error.says(path.string()));
    return error.message;
  };
  const auto number = [&](const char* name, std::int64_t value) {
    return error_of([&](Made<>& made) { made.numbers[name] = value; });
  };
  using Catch::Matchers::Contains;
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  CHECK_THAT(number("vocabulary_size", 0), Contains("vocabulary_size is 0, expected 1 to 2147483648"));
  CHECK_THAT(number("vocabulary_size", -5), Contains("vocabulary_size is -5"));
  CHECK_THAT(number("vocabulary_size", (std::int64_t{1} << 32) + 257),
             Contains("vocabulary_size is 4294967553"));
  CHECK_THAT(number("eos", 257), Contains("eos is 257, expected -1 to 256"));
  CHECK_THAT(number("eos", -2), Contains("eos is -2"));
  for (const std::int64_t count :
       {std::int64_t{11}, std::int64_t{1} << 62, (std::int64_t{1} << 62) + 10, largest}) {
    CHECK_THAT(number("num_tokens", count), Contains("/tokens does not have the"));
    CHECK_THAT(number("num_documents", count), Contains("/document_offsets does not have the"));
  }
  CHECK_THAT(number("num_tokens", -7), Contains("num_tokens is -7"));
  const auto text = [&](const char* name, const char* value) {
    return error_of([&](Made<>& made) { made.texts[name] = value; });
  };
  CHECK_THAT(text("split", "test"), Contains("split is 'test', expected train or validation"));
  CHECK_THAT(text("tokenizer_digest", "12"), Contains("tokenizer_digest: '12' is not a digest"));
  CHECK_THAT(text("document_offsets_digest", "x"), Contains("document_offsets_digest: 'x' is not a digest"));
  for (const char* name : {"format", "split", "tokenizer"})
    CHECK(error_of([&](Made<>& made) { made.texts.erase(name); }).size() > 0);
  for (const char* name : {"version", "vocabulary_size", "eos", "num_tokens", "num_documents"})
    CHECK_THAT(error_of([&](Made<>& made) { made.numbers.erase(name); }), Contains(name));
}

TEST_CASE("a token outside the vocabulary is found where its block is first read") {
  const Folder folder;
  const fs::path path = folder / "x.h5";
  const auto problem = [&](const auto& made, std::uint32_t token) {
    made.write(path);
    const TokenShard shard(path);
    std::vector<std::int32_t> tokens(1);
    for (const auto read : {&TokenShard::read, &TokenShard::read_labels}) {
      const auto error = caught([&] { (shard.*read)(0, tokens); });
      CHECK(error.kind == ErrorKind::input);
      CHECK(error.says(fmt::format("{} is corrupt: token {} in block 0 is outside the vocabulary of 257",
                                   path.string(), token)));
    }
  };
  Made<> narrow;
  narrow.tokens[7] = 257;
  problem(narrow, 257);
  Made<std::uint64_t, std::uint32_t> wide;
  wide.tokens[9] = 0x80000001;  // a mark, though no version says that there are marks
  problem(wide, 0x80000001);
  wide.numbers["version"] = masked_shard_version;
  wide.write(path);
  std::vector<std::int32_t> tokens(10);
  TokenShard(path).read(0, tokens);
  CHECK(tokens[9] == 1);
  wide.tokens[9] = 0x80000101;
  problem(wide, 257);
}

TEST_CASE("the first shard of a split begins with a document, unless the split has none") {
  const Folder folder;
  Made<> made{.offsets = {5, 10}};
  made.write(folder / "train-00000.h5");
  std::uint64_t documents = 1;
  const auto open = [&] {
    const TokenShardHeader header = TokenShard(folder / "train-00000.h5").header();
    DatasetFile dataset;
    dataset.tokenizer = header.tokenizer;
    dataset.split(Split::train) = {header.tokens, documents, 0};
    dataset.shards = {
        {"train-00000.h5", Split::train, header.tokens, documents, header.bytes, header.digest}};
    write_dataset_file(folder.path(), dataset);
    return TokenDataset(folder.path());
  };
  std::vector<std::int32_t> first(10);
  const auto error = caught([&] { open().document_starts(Split::train, 0, first); });
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.says("train-00000.h5: /document_offsets begins with 5, expected 0"));
  bool is_found = false;
  for (const DatasetProblem& problem : verify_dataset(folder.path(), [](std::uint64_t, std::uint64_t) {}))
    is_found =
        is_found || problem.what.find("/document_offsets begins with 5, expected 0") != std::string::npos;
  CHECK(is_found);
  made.offsets = {10};
  made.write(folder / "train-00000.h5");
  documents = 0;
  open().document_starts(Split::train, 0, first);
  CHECK(first == std::vector<std::int32_t>(10, 0));
}
