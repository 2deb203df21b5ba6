#include "data/read/token_dataset.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/hdf5/hdf5_file.hpp"
#include "data/read/verify_dataset.hpp"
#include "data/test_dataset.hpp"

using namespace dt;
using namespace dt::data;
using dt_test::caught;
using dt_test::content;
using dt_test::damage;
using dt_test::Folder;
using dt_test::make;
using dt_test::make_documents;
using dt_test::plain_options;
using dt_test::put;
using dt_test::text_of;
using dt_test::tokens_of;

namespace {

/// Makes a dataset of `size` bytes of text in `folder`/out; returns the text.
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
  std::vector<std::string> texts;
  for (const DatasetProblem& problem : verify_dataset(folder, [](std::uint64_t, std::uint64_t) {}))
    texts.push_back(problem.what);
  return texts;
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
using Json = nlohmann::ordered_json;

using Positions = std::vector<std::int32_t>;

Positions starts_of(const TokenDataset& dataset, Split split, std::uint64_t begin, std::size_t length) {
  Positions first_T(length, -1);
  dataset.document_starts(split, begin, first_T);
  return first_T;
}

/// Makes ten-token shards: "aaabbbbbbb", "cccceeeeee", "eeeeeeeeee", "eeeeeeeeef". One document is empty.
TokenDataset documents_across_shards(const Folder& folder) {
  MakeOptions options = plain_options({});
  options.shard_tokens = 10;
  return make_documents(folder, {"aaa", std::string(7, 'b'), "cccc", "", std::string(25, 'e'), "f"}, options);
}

/// Returns document starts by the tokens alone; neighbouring documents must have different letters.
Positions starts_by_letter(const std::string& text, std::size_t begin, std::size_t length) {
  Positions first_T(length);
  for (std::size_t t = 1; t < length; ++t) {
    const bool begins = text[begin + t] != text[begin + t - 1];
    first_T[t] = begins ? static_cast<std::int32_t>(t) : first_T[t - 1];
  }
  return first_T;
}

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

TEST_CASE("a window knows where in it the document of each of its tokens begins") {
  const Folder folder;
  const TokenDataset dataset = make_documents(folder, {"aaa", "bb", "c", "dddd"});
  CHECK(starts_of(dataset, Split::train, 0, 5) == Positions{0, 0, 0, 3, 3});  // from a document's start
  CHECK(starts_of(dataset, Split::train, 3, 4) == Positions{0, 0, 2, 3});     // from a later document's start
  CHECK(starts_of(dataset, Split::train, 1, 6) == Positions{0, 0, 2, 2, 4, 5});  // from inside a document
  CHECK(starts_of(dataset, Split::train, 7, 3) == Positions{0, 0, 0});           // all inside one document
  CHECK(starts_of(dataset, Split::train, 6, 1) == Positions{0});
  CHECK(starts_of(dataset, Split::train, 10, 0).empty());
  CHECK_THROWS_AS(starts_of(dataset, Split::train, 6, 5), Error);
  CHECK_THROWS_AS(starts_of(dataset, Split::validation, 0, 1), Error);
}

TEST_CASE("EOS belongs to the document that it ends") {
  const Folder folder;
  MakeOptions options = plain_options({});
  options.append_eos = true;
  const TokenDataset dataset = make_documents(folder, {"aa", "", "b"}, options);
  REQUIRE(text_of(dataset, Split::train) == "aa|b|");
  CHECK(starts_of(dataset, Split::train, 0, 5) == Positions{0, 0, 0, 3, 3});
  CHECK(starts_of(dataset, Split::train, 2, 3) == Positions{0, 1, 1});
}

TEST_CASE("a document that goes on in later shards is one, in every window") {
  const Folder folder;
  const TokenDataset dataset = documents_across_shards(folder);
  const std::string text = text_of(dataset, Split::train);
  REQUIRE(text.size() == 40);
  CHECK(starts_of(dataset, Split::train, 8, 8) == Positions{0, 0, 2, 2, 2, 2, 6, 6});
  CHECK(starts_of(dataset, Split::train, 12, 28).at(26) == 2);
  CHECK(starts_of(dataset, Split::train, 12, 28).at(27) == 27);
  for (std::size_t begin = 0; begin <= text.size(); ++begin) {
    for (std::size_t length = 0; begin + length <= text.size(); ++length) {
      CHECK(starts_of(dataset, Split::train, begin, length) == starts_by_letter(text, begin, length));
    }
  }
}

TEST_CASE("a validation split that is the end of a document is inside it") {
  const Folder folder;
  MakeOptions options = plain_options({});
  options.val_fraction = 0.5;
  const TokenDataset dataset = make_documents(folder, {"aaaaaaaa"}, options);
  REQUIRE(dataset.split(Split::validation).documents == 0);
  CHECK(starts_of(dataset, Split::validation, 0, 4) == Positions{0, 0, 0, 0});
}

TEST_CASE(
    "corrupt document offsets are an input error that names the shard, for the windows that need them") {
  const Folder folder;
  { const TokenDataset whole = documents_across_shards(folder); }
  const fs::path shard = folder / "out/train-00001.h5";
  damage(shard, static_cast<std::int64_t>(Hdf5Reader(shard).info("/document_offsets").offset) + 8);
  const TokenDataset dataset(folder / "out");
  CHECK(tokens_of(dataset, Split::train).size() == 40);
  CHECK(starts_of(dataset, Split::train, 1, 9) == Positions{0, 0, 2, 2, 2, 2, 2, 2, 2});
  for (int i = 0; i < 2; ++i) {
    const auto error = caught([&] { starts_of(dataset, Split::train, 1, 10); });
    CHECK(error.kind == ErrorKind::input);
    CHECK(error.says(shard.string() + ": /document_offsets is corrupt: it does not match its digest"));
  }
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
  dataset.read(Split::train, 8'388'608 - 100, tokens);  // the end of block 0
  dataset.read(Split::train, 16'777'216, tokens);       // the beginning of block 2
  const auto error = caught([&] { dataset.read(Split::train, 8'388'608 - 99, tokens); });
  CHECK(error.says("block 1 of its tokens does not match its digest"));
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
  CHECK_THAT(open_error(folder.path()), Contains("contains no dataset.json"));
  change_json(out / "dataset.json", [](auto& object) { object["version"] = 7; });
  CHECK_THAT(open_error(out), Contains("dataset.json has version 7; this dt reads version 1"));
  put(out / "dataset.json", json.substr(0, json.size() / 2));
  CHECK_THAT(open_error(out), Contains("dataset.json is damaged"));
  put(out / "dataset.json", json);
  change_json(out / "dataset.json", [](auto& object) { object.erase("splits"); });
  CHECK_THAT(open_error(out), Contains("dataset.json is damaged: member 'splits' is missing"));
  put(out / "dataset.json", "{\"made\": " + std::string(1'000'000, '['));
  CHECK_THAT(open_error(out), Contains("dataset.json is damaged: it nests more than 100 levels deep"));
  put(out / "dataset.json", json);

  put(out / "train-00001.h5", shard.substr(0, shard.size() - 1));
  CHECK_THAT(open_error(out), Contains("train-00001.h5"));
  put(out / "train-00001.h5", content(out / "train-00002.h5"));  // whole, but another shard
  CHECK_THAT(open_error(out), Contains("train-00001.h5: its digest does not match dataset.json"));
  fs::remove(out / "train-00001.h5");
  CHECK_THAT(open_error(out), Contains("train-00001.h5: No such file"));
}

TEST_CASE(
    "of several that open a dataset each looks at its share of the shards, and at others when it reads "
    "them") {
  const Folder folder;
  const std::string text = make_sized(folder, 200, 50);
  const fs::path out = folder / "out";
  const std::string shard = content(out / "train-00002.h5");
  put(out / "train-00002.h5", shard.substr(0, 1000));
  CHECK(caught([&] { TokenDataset opened(out, {0, 2}); }).says("train-00002.h5"));
  const TokenDataset dataset(out, {1, 2});
  std::vector<std::int32_t> tokens(20);
  dataset.read(Split::train, 80, tokens);
  dataset.read(Split::train, 150, tokens);
  for (int i = 0; i < 2; ++i) {
    const auto error = caught([&] { dataset.read(Split::train, 81, tokens); });
    CHECK(error.kind == ErrorKind::input);
    CHECK(error.says("train-00002.h5"));
  }
  put(out / "train-00002.h5", content(out / "train-00001.h5"));  // whole, but another shard
  CHECK(
      caught([&] { dataset.read(Split::train, 81, tokens); }).says("its digest does not match dataset.json"));
  put(out / "train-00002.h5", shard);
  dataset.read(Split::train, 81, tokens);
  CHECK(std::equal(tokens.begin(), tokens.end(), text.begin() + 81));
}

TEST_CASE("shards of a dataset are alike in whether they mark what is no target") {
  const Folder folder;
  put(folder / "a.jsonl",
      R"({"messages": [{"role": "user", "content": "12345"}, {"role": "bot", "content": "67890"}]})");
  auto options = plain_options({folder / "a.jsonl"});
  options.shard_tokens = 5;
  options.lines.turns = TurnFormat{"", "", {}};
  make(folder / "plain", options);
  options.lines.turns->loss_on = {"bot"};
  make(folder / "marked", options);
  CHECK_FALSE(TokenDataset(folder / "plain").masks_targets());
  CHECK(TokenDataset(folder / "marked").masks_targets());
  const auto plain = nlohmann::ordered_json::parse(content(folder / "plain/dataset.json"));
  change_json(folder / "marked/dataset.json",
              [&](auto& object) { object["shards"][1] = plain["shards"][1]; });
  put(folder / "marked/train-00001.h5", content(folder / "plain/train-00001.h5"));
  CHECK_THAT(open_error(folder / "marked"), Contains("train-00001.h5: none of its tokens are excluded"));
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
  CHECK_THAT(problems[0], Contains("tokenizer.json: its digest does not match dataset.json"));
  CHECK_THAT(problems[1], Contains("train-00009.h5: dataset.json does not list it"));
  CHECK_THAT(problems[2], Contains("train-00002.h5: is corrupt"));
  CHECK_THAT(problems[3], Contains("train-00003.h5"));
}

TEST_CASE("verification finds shards in another order, and a damaged dataset.json") {
  const Folder folder;
  MakeOptions options = plain_options({});
  options.shard_tokens = 5;
  make_documents(folder, {"aaaaa", "bbbbb"}, options);
  const fs::path json = folder / "out/dataset.json";
  change_json(json, [](auto& object) { std::swap(object["shards"][0], object["shards"][1]); });
  CHECK_THAT(problems_of(folder / "out").at(0),
             Contains("the digest of the train split does not match its tokens"));
  change_json(json, [](auto& object) { object["tokens"] = 99; });
  CHECK_THAT(problems_of(folder / "out").at(0), Contains("its totals differ"));
  fs::remove(json);
  CHECK(caught([&] { problems_of(folder / "out"); }).kind == ErrorKind::input);
}

TEST_CASE("hostile values of dataset.json are input errors that name the member") {
  const Folder folder;
  make_sized(folder, 150, 50);
  const fs::path out = folder / "out";
  const std::string json = content(out / "dataset.json");
  const auto problem = [&](const auto& change) {
    put(out / "dataset.json", json);
    change_json(out / "dataset.json", change);
    const auto error = caught([&] { TokenDataset opened(out); });
    CHECK(error.kind == ErrorKind::input);
    CHECK_THAT(problems_of(out).at(0), Contains("dataset.json is damaged"));
    return error.message;
  };
  for (const auto& value : {Json(0), Json(-1), Json(4294967553U), Json(257.0), Json("257"), Json(1e300)}) {
    CHECK_THAT(problem([&](auto& object) { object["tokenizer"]["vocabulary_size"] = value; }),
               Contains("member 'tokenizer.vocabulary_size' is"));
    if (value != 0)
      CHECK_THAT(problem([&](auto& object) { object["tokenizer"]["eos"] = value; }),
                 Contains("member 'tokenizer.eos' is"));
  }
  for (const char* key : {"tokens", "documents", "bytes"}) {
    for (const auto& value : {Json(-1), Json(std::uint64_t{1} << 63), Json(1.5), Json()})
      CHECK_THAT(problem([&](auto& object) { object["shards"][1][key] = value; }),
                 Contains(fmt::format("member 'shards[1].{}' is", key)));
  }
  // The sums overflow and come round to the right number.
  CHECK_THAT(problem([&](auto& object) {
               for (auto& shard : object["shards"]) shard["tokens"] = std::uint64_t{1} << 62;
             }),
             Contains("member 'shards[0].tokens' is"));
  for (const auto& file : {Json(""), Json(".."), Json("a/b"), Json(std::string("a\0b", 3)), Json(".hidden")})
    CHECK_THAT(problem([&](auto& object) { object["shards"][0]["file"] = file; }),
               Contains("is not a plain name of"));
  CHECK_THAT(problem([&](auto& object) { object["shards"][0]["file"] = 7; }),
             Contains("'shards[0].file' is not a string"));
  CHECK_THAT(problem([&](auto& object) { object["shards"][0]["digest"] = "x"; }),
             Contains("'shards[0].digest' is not a digest"));
  CHECK_THAT(problem([&](auto& object) { object["shards"] = 7; }), Contains("'shards' is not an array"));
  CHECK_THAT(problem([&](auto& object) { object["splits"] = 7; }), Contains("'splits' is not an object"));
  CHECK_THAT(problem([&](auto& object) { object["version"] = 1.5; }),
             Contains("'version' is not a 64-bit integer"));
  CHECK_THAT(problem([&](auto& object) { object.clear(); }), Contains("'format' is missing"));
}
