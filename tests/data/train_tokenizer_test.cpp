#include "data/build/train_tokenizer.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "data/test_dataset.hpp"

using namespace dt;
using namespace dt::data;
using dt_test::caught;
using dt_test::Folder;
using dt_test::put;

namespace {

std::string random_words(int count) {
  std::mt19937 random(1);
  std::string text;
  for (int i = 0; i < count; ++i) {
    for (unsigned letters = 1 + random() % 8; letters > 0; --letters)
      text += static_cast<char>('a' + random() % (1 + random() % 26));
    text += random() % 10 == 0 ? '\n' : ' ';
  }
  return text;
}

MakeOptions training(std::vector<std::string> inputs) {
  MakeOptions options = dt_test::plain_options(std::move(inputs));
  options.train_vocabulary = 600;
  return options;
}

std::string trained(const MakeOptions& options) {
  return train_tokenizer(options, [](MakePhase, std::uint64_t, std::uint64_t) {});
}

}  // namespace

TEST_CASE("a trained tokenizer depends neither on threads, nor on chunks, nor on how documents are written") {
  const Folder folder;
  const std::string text = random_words(20000);
  put(folder / "text", text);
  std::string line;
  for (const char c : text) line += c == '\n' ? "\\n" : std::string(1, c);
  put(folder / "text.jsonl", "{\"text\": \"" + line + "\"}\n");
  const std::string expected = trained(training({folder / "text"}));
  REQUIRE(trained_tokenizer(expected)->info().vocabulary_size == 600);
  REQUIRE(trained_tokenizer(expected)->info().eos == 0);
  MakeOptions other = training({folder / "text"});
  other.threads = 3;
  other.read.chunk_bytes = 1000;
  REQUIRE(trained(other) == expected);
  REQUIRE(trained(training({folder / "text.jsonl"})) == expected);
}

TEST_CASE("a dataset with a tokenizer trained for it is the one that its tokenizer.json makes") {
  const Folder folder;
  put(folder / "text", random_words(3000));
  MakeOptions options = training({folder / "text"});
  options.append_eos = true;
  const DatasetFile dataset = dt_test::make(folder / "trained", options);
  options.train_vocabulary = 0;
  options.tokenizer = folder / "trained" / "tokenizer.json";
  const DatasetFile again = dt_test::make(folder / "encoded", options);
  REQUIRE(dataset.tokenizer.vocabulary_size == 600);
  REQUIRE(dataset.content_digest() == again.content_digest());
  REQUIRE(dataset.tokenizer == again.tokenizer);
}

TEST_CASE("a trained tokenizer has the pattern, the token and the least count that are asked for") {
  const Folder folder;
  put(folder / "text", "ab12345 ab12345 ab12345 xyz");
  MakeOptions options = training({folder / "text"});
  REQUIRE(trained(options).find(" ?\\\\p{L}+") != std::string::npos);
  options.tokenizer_pattern = "[a-z]+|[0-9]| ";
  options.eos_token = "<end of text>";
  options.min_pair_count = 3;
  const auto tokenizer = trained_tokenizer(trained(options));
  REQUIRE(tokenizer->info().vocabulary_size == 258);  // 257 and "ab"
  std::vector<std::uint32_t> ids;
  tokenizer->encoder()->encode("ab<end of text>", ids);
  REQUIRE(ids == std::vector<std::uint32_t>{257, 0});
  REQUIRE(tokenizer->decode(ids) == "ab<end of text>");
}

TEST_CASE("training refuses no text, a pattern that is none, and for a dataset what cannot be read twice") {
  const Folder folder;
  put(folder / "empty", "");
  REQUIRE(caught([&] { trained(training({folder / "empty"})); }).says("no text in"));
  put(folder / "text", "text");
  MakeOptions options = training({folder / "text"});
  options.tokenizer_pattern = "(";
  REQUIRE(caught([&] { trained(options); }).says("does not accept the regular expression ("));
  options = training({folder / "text", "-"});
  REQUIRE(caught([&] {
            dt_test::make(folder / "out", options);
          }).says("standard input is a pipe and cannot be read twice"));
}
