#include "data/read/mixture.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "data/read/loader.hpp"
#include "data/test_dataset.hpp"

using namespace dt;
using namespace dt::data;
using dt_test::Folder;

namespace {

using Sources = std::vector<std::pair<std::string, std::uint64_t>>;

Sources parsed(const std::string& text) {
  Sources sources;
  for (const MixtureSource& source : parse_mixture(text))
    sources.emplace_back(source.folder.string(), source.weight);
  return sources;
}

/// Makes `folder`/NAME of `tokens` tokens, all `letter`; a fifth validates.
void make_letters(const Folder& folder, const std::string& name, char letter, std::size_t tokens) {
  dt_test::put(folder / (name + ".txt"), std::string(tokens, letter));
  auto options = dt_test::plain_options({folder / (name + ".txt")});
  options.val_fraction = 0.2;
  dt_test::make(folder / name, options);
}

std::string at(const Folder& folder, const std::string& name) {
  return (folder / name).string();
}

/// Datasets a, b, c, filled with the letters x, y, x.
struct Letters : Folder {
  Letters() {
    make_letters(*this, "a", 'x', 100);
    make_letters(*this, "b", 'y', 200);
    make_letters(*this, "c", 'x', 100);
  }
  std::string mix(const std::string& first, const std::string& second) const {
    return at(*this, first) + "," + at(*this, second);
  }
};

/// Returns a tokenizer of single bytes in tiktoken's format, with base64.
std::string byte_ranks() {
  constexpr const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string ranks;
  for (int i = 0; i < 256; ++i) ranks += fmt::format("{}{}== {}\n", digits[i >> 2], digits[(i & 3) << 4], i);
  return ranks;
}

std::uint64_t digest_of(const Batch& batch) {
  return batch_digest(batch.digest_seeds_B.data(), batch.tokens_BT.data(), batch.labels_BT.data(),
                      batch.num_samples, batch.sequence_length);
}

}  // namespace

TEST_CASE("folders with weights are a mixture, everything else is one folder") {
  CHECK(parsed("a=0.7,b=0.3") == Sources{{"a", 7}, {"b", 3}});
  CHECK(parsed("a=2,b=0.25,c/d=1.") == Sources{{"a", 200}, {"b", 25}, {"c/d", 100}});
  CHECK(parsed("a=1") == Sources{{"a", 1}});
  CHECK(parsed("a=0012345678901,b=5") == Sources{{"a", 12345678901}, {"b", 5}});
  for (const char* folder :
       {"a", "a,b", "x=1/", "lr=1e-3", "a=0.7,b", "=1", "a=", "a=.", "a=0.7,", "a=-1", "a=1..5"})
    CHECK(parsed(folder) == Sources{{folder, 1}});
}

TEST_CASE("folders of a mixture may have = and , in their names") {
  CHECK(parsed("v=2/a,b=0.5,c=0.5") == Sources{{"v=2/a,b", 5}, {"c", 5}});
  CHECK(parsed("x=y=1,z=2") == Sources{{"x=y", 1}, {"z", 2}});
}

TEST_CASE("weights of 0, beyond 64 bits, or of one folder twice are usage errors") {
  CHECK(dt_test::caught([] { parse_mixture("a=0.0,b=1"); }).says("weight of a is 0"));
  CHECK(dt_test::caught([] { parse_mixture("a=1234567890123456789,b=1"); }).says("18 digits"));
  for (const char* text : {"a=1,a/=1", "a=1,b=1,./a=1", "a/b=1,a//b=1", ".=1,./=1", "/a=1,/a/.=1"})
    CHECK(dt_test::caught([&] { parse_mixture(text); }).says("is listed twice"));
  CHECK(parsed("/a=1,a=1,../a=1").size() == 3);
  CHECK(dt_test::caught([] { parse_mixture("a=1000000000,b=0.0000000001"); }).kind == ErrorKind::usage);
  CHECK(dt_test::caught([] { parse_mixture("a=1,b=1,a=2"); }).says("a is listed twice"));
}

TEST_CASE("a mixture with a slip in it is told how to write one") {
  CHECK(dt_test::caught([] { Mixture("a=0.7,b"); }).says("a=0.7,b=0.3"));
  CHECK(dt_test::caught([] { Mixture("nowhere"); }).says("nowhere/dataset.json"));
}

TEST_CASE("datasets of different tokenizers do not mix") {
  const Letters folder;
  auto options = dt_test::plain_options({folder / "a.txt"});
  dt_test::put(folder / "ranks", byte_ranks());
  options.tokenizer = at(folder, "ranks");
  options.tokenizer_pattern = "gpt2";
  dt_test::make(folder / "other", options);
  const auto error = dt_test::caught([&] { Mixture(at(folder, "a") + "=1," + at(folder, "other") + "=1"); });
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.says("different tokenizers"));
  CHECK(error.says(at(folder, "other")));
}

TEST_CASE("what is trained on is known by its datasets, their weights and their order") {
  const Letters folder;
  const std::string a = at(folder, "a"), b = at(folder, "b");
  const auto digest = [](const std::string& text) { return Mixture(text).content_digest(); };
  const std::uint64_t mixed = digest(a + "=0.7," + b + "=0.3");
  CHECK(mixed == digest(a + "=70," + b + "=30"));
  const std::set<std::uint64_t> all{mixed, digest(a + "=0.6," + b + "=0.4"), digest(b + "=0.3," + a + "=0.7"),
                                    digest(a), digest(b)};
  CHECK(all.size() == 5);
  CHECK(digest(a) == TokenDataset(a).content_digest());
  CHECK(digest(a + "=3") == digest(a));
}

TEST_CASE("samples come from each source by weight, in an order of its own, each window once an epoch") {
  const Letters folder;
  const Mixture mixture(at(folder, "a") + "=0.75," + at(folder, "c") + "=0.25");
  Loader loader(mixture, 1, 4);
  REQUIRE(loader.sampler(0).num_windows() == 19);
  std::vector<std::vector<std::uint64_t>> windows(2);
  for (std::uint64_t i = 0; i < 76; ++i) {
    const auto [source, index] = mixture.interleave().at(i);
    windows[source].push_back(loader.sampler(source).window(index));
  }
  REQUIRE(windows[0].size() == 57);
  REQUIRE(windows[1].size() == 19);
  CHECK(std::vector(windows[0].begin(), windows[0].begin() + 19) != windows[1]);
  std::ranges::sort(windows[1]);
  for (std::uint64_t w = 0; w < 19; ++w) CHECK(windows[1][w] == w);
}

TEST_CASE("batches of a mixture are the same however samples are cut into batches") {
  const Letters folder;
  const Mixture mixture(at(folder, "a") + "=2," + at(folder, "b") + "=1");
  Loader loader(mixture, 0, 4);
  const Batch whole = loader.next(0, 12, 12);
  for (std::size_t i = 0; i < 12; ++i)
    CHECK(whole.tokens_BT[4 * i] == (mixture.interleave().at(i).source == 0 ? 'x' : 'y'));
  std::uint64_t sum = 0;
  std::vector<std::int32_t> tokens;
  for (const auto& [first, count] : {std::pair{0, 5}, {5, 1}, {6, 6}}) {
    const Batch part = Loader(mixture, 0, 4).next(static_cast<std::uint64_t>(first), count, 0);
    tokens.insert(tokens.end(), part.tokens_BT.begin(), part.tokens_BT.end());
    sum += digest_of(part);
  }
  CHECK(tokens == whole.tokens_BT);
  CHECK(sum == digest_of(whole));
}

TEST_CASE("the digest of samples covers the source that they come from") {
  const Letters folder;
  const Mixture first(at(folder, "a") + "=1," + at(folder, "c") + "=2");
  const Mixture second(at(folder, "a") + "=2," + at(folder, "c") + "=1");
  const Batch one = Loader(first, 0, 4).next(0, 6, 6), other = Loader(second, 0, 4).next(0, 6, 6);
  REQUIRE(one.tokens_BT == other.tokens_BT);
  CHECK(one.samples_B == other.samples_B);
  CHECK(digest_of(one) != digest_of(other));
}

TEST_CASE("a source without a window is named") {
  const Letters folder;
  const Mixture mixture(at(folder, "b") + "=1," + at(folder, "a") + "=1");
  const auto error = dt_test::caught([&] { Loader(mixture, 0, 100); });
  CHECK(error.says("the train split of " + at(folder, "a") + " has only 80 tokens"));
}
