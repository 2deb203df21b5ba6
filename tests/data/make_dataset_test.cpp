#include "data/build/make_dataset.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <utility>

#include "data/test_dataset.hpp"

using namespace dt;
using namespace dt::data;
using dt_test::caught;
using dt_test::Folder;
using dt_test::lines_in_ranges;
using dt_test::make;
using dt_test::plain_options;
using dt_test::problems_of;
using dt_test::put;
using dt_test::text_of;

namespace {

std::string numbered_documents(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}document {}", i == 0 ? "" : "\n--\n", i);
  return text;
}

MakeOptions documents_in(const fs::path& file) {
  MakeOptions options = plain_options({file});
  options.read.document_separator = "\n--\n";
  options.append_eos = true;
  return options;
}

}  // namespace

TEST_CASE("tokens come in the input's order, with EOS after each document, split into shards of equal size") {
  const Folder folder;
  put(folder / "a", numbered_documents(4));
  MakeOptions options = documents_in(folder / "a");
  options.shard_tokens = 10;
  const DatasetFile dataset = make(folder / "out", options);
  const TokenDataset opened(folder / "out");
  CHECK(text_of(opened, Split::train) == "document 0|document 1|document 2|document 3|");
  CHECK(dataset.shards.size() == 5);
  CHECK(std::all_of(dataset.shards.begin(), dataset.shards.end() - 1,
                    [](const ShardEntry& shard) { return shard.tokens == 10; }));
  CHECK(opened.split(Split::train).documents == 4);
  CHECK(opened.vocabulary_size() == 257);
  CHECK(opened.tokenizer_name() == "bytes");
  CHECK(opened.content_digest() == dataset.content_digest());
  CHECK(problems_of(folder / "out").empty());
  CHECK(folder.num_entries() == 2);
}

TEST_CASE("the dataset does not depend on threads, and the data not on the size of shards") {
  const Folder folder;
  put(folder / "a", numbered_documents(20000));
  MakeOptions options = documents_in(folder / "a");
  options.shuffle = true;
  options.val_fraction = 0.1;
  options.read.chunk_bytes = 1000;
  make(folder / "one", options);
  options.threads = 4;
  make(folder / "four", options);
  // dataset.json holds the digests of all tokens and of each shard.
  CHECK(dt_test::content(folder / "one/dataset.json") == dt_test::content(folder / "four/dataset.json"));
  options.shard_tokens = 12345;
  options.read.chunk_bytes = 1 << 20;
  CHECK(make(folder / "many", options).content_digest() ==
        read_dataset_file(folder / "one").content_digest());
}

TEST_CASE("the seed decides the order of documents, not what they are") {
  const Folder folder;
  put(folder / "a", numbered_documents(50));
  MakeOptions options = documents_in(folder / "a");
  make(folder / "plain", options);
  options.shuffle = true;
  make(folder / "seed0", options);
  options.seed = 1;
  make(folder / "seed1", options);
  std::vector<std::string> texts;
  for (const char* name : {"plain", "seed0", "seed1"}) {
    texts.push_back(text_of(TokenDataset(folder / name), Split::train));
    CHECK(texts.back().find("|document 17|") != std::string::npos);
    CHECK(texts.back().size() == texts.front().size());
  }
  CHECK(texts[0] != texts[1]);
  CHECK(texts[1] != texts[2]);
  // Existing runs rely on this order.
  CHECK(texts[1].starts_with("document 43|document 26|document 33|"));
}

TEST_CASE("validation takes the last documents: the rounded fraction, at least one, never all") {
  const Folder folder;
  put(folder / "a", numbered_documents(10));
  MakeOptions options = documents_in(folder / "a");
  options.overwrite = true;
  const auto documents = [&](double fraction) {
    options.val_fraction = fraction;
    const DatasetFile dataset = make(folder / "out", options);
    CHECK(problems_of(folder / "out").empty());
    CHECK(dataset.documents() == 10);
    return dataset.split(Split::validation).documents;
  };
  CHECK(documents(0) == 0);
  CHECK(documents(0.0001) == 1);
  CHECK(documents(0.26) == 3);
  CHECK(text_of(TokenDataset(folder / "out"), Split::validation) == "document 7|document 8|document 9|");
  CHECK(documents(0.99) == 9);
}

TEST_CASE("a single document validates with its tail") {
  const Folder folder;
  put(folder / "a", "0123456789");
  MakeOptions options = plain_options({folder / "a"});
  options.append_eos = true;
  options.val_fraction = 0.2;
  const DatasetFile dataset = make(folder / "out", options);
  const TokenDataset opened(folder / "out");
  CHECK(text_of(opened, Split::train) == "01234567");
  CHECK(text_of(opened, Split::validation) == "89|");  // ceil(0.2 · 11) tokens
  CHECK(dataset.split(Split::train).documents == 1);
  CHECK(dataset.split(Split::validation).documents == 0);
  CHECK(problems_of(folder / "out").empty());

  put(folder / "b", "x");
  const DatasetFile smallest = make(folder / "out_b", [&] {
    MakeOptions o = plain_options({folder / "b"});
    o.val_fraction = 0.5;
    return o;
  }());
  CHECK(smallest.split(Split::train).tokens == 1);
  CHECK(smallest.split(Split::validation).tokens == 0);
}

TEST_CASE("texts of many files, empty ones left out") {
  const Folder folder;
  fs::create_directory(folder / "in");
  put(folder / "in/b.txt", "second");
  put(folder / "in/a.jsonl", "{\"text\": \"first\"}\n{\"text\": \"\"}\n");
  put(folder / "in/c.txt", "");
  MakeOptions options = plain_options({folder / "in", folder / "in/b.txt"});
  options.append_eos = true;
  CHECK(make(folder / "out", options).documents() == 3);
  CHECK(text_of(TokenDataset(folder / "out"), Split::train) == "first|second|second|");
}

TEST_CASE("no text at all is an input error that names the inputs, and leaves nothing") {
  const Folder folder;
  fs::create_directory(folder / "in");
  put(folder / "in/empty", "");
  const auto error = caught([&] { make(folder / "out", plain_options({folder / "in"})); });
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.says("no text in " + (folder / "in").string()));
  CHECK(folder.num_entries() == 1);
}

TEST_CASE("an error in the middle of the input leaves nothing, and is the first one in the input's order") {
  const Folder folder;
  put(folder / "a", std::string(100000, 'x') + "\n\xFF\n" + std::string(100000, 'y') + "\xFE");
  MakeOptions options = plain_options({folder / "a"});
  options.read.chunk_bytes = 1000;
  options.threads = 4;
  const auto error = caught([&] { make(folder / "out", options); });
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.says("a:2: invalid UTF-8: byte 0xff"));
  CHECK(folder.num_entries() == 1);
}

TEST_CASE("what progress throws stops the work in either phase and leaves nothing") {
  const Folder folder;
  put(folder / "a", "text");
  for (const MakePhase phase : {MakePhase::read, MakePhase::write}) {
    const auto stop = [phase](MakePhase now, std::uint64_t, std::uint64_t) {
      if (now == phase) throw 42;
    };
    CHECK_THROWS_AS(make_dataset(folder / "out", plain_options({folder / "a"}), stop), int);
    CHECK(folder.num_entries() == 1);
  }
}

TEST_CASE("a document of any length is written in parts, between which work can be stopped") {
  const Folder folder;
  put(folder / "a", std::string(20 << 20, 'a'));  // 40 MiB of tokens
  std::vector<std::uint64_t> told;
  const auto note = [&](MakePhase phase, std::uint64_t done, std::uint64_t) {
    if (phase == MakePhase::write) told.push_back(done);
  };
  MakeOptions options = plain_options({folder / "a"});
  options.val_fraction = 0.5;  // the file's tail
  make_dataset(folder / "out", options, note);
  CHECK(told == std::vector<std::uint64_t>{8 << 20, 10 << 20, 18 << 20, 20 << 20});
  CHECK(problems_of(folder / "out").empty());
}

TEST_CASE("work can be stopped at each input that is looked for, before any is read") {
  const Folder folder;
  fs::create_directory(folder / "in");
  for (const char* name : {"a", "b", "c"}) put(folder / "in" / name, "text");
  int looked = 0;
  const auto stop_at_third = [&](MakePhase, std::uint64_t, std::uint64_t total) {
    if (total == 0 && ++looked == 3) throw 42;
  };
  CHECK_THROWS_AS(make_dataset(folder / "out", plain_options({folder / "in"}), stop_at_third), int);
}

TEST_CASE("an existing folder is refused; an empty one is taken; overwriting replaces only a dataset") {
  const Folder folder;
  put(folder / "a", "text");
  MakeOptions options = plain_options({folder / "a"});
  fs::create_directory(folder / "out");
  make(folder / "out", options);
  CHECK(caught([&] { make(folder / "out", options); }).says("already exists"));
  put(folder / "a", "other");
  options.overwrite = true;
  make(folder / "out", options);
  CHECK(text_of(TokenDataset(folder / "out"), Split::train) == "other");
  fs::create_directory(folder / "home");
  put(folder / "home/precious", "");
  const auto error = caught([&] { make(folder / "home", options); });
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.says("is not a dataset"));
  CHECK(fs::exists(folder / "home/precious"));
}

TEST_CASE("what is wrong in the middle of a large file is said with its line") {
  const Folder folder;
  MakeOptions options = lines_in_ranges(folder / "a.jsonl");
  const std::string lines = dt_test::content(folder / "a.jsonl");
  put(folder / "a.jsonl", lines + "{}\n" + lines);
  const auto error = caught([&] { make(folder / "out", options); });
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.says("a.jsonl:20001: no key \"text\""));
}
