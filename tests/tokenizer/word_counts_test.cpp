#include "tokenizer/train/word_counts.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>
#include <thread>

#include "tokenizer/encode/scanners.hpp"
#include "tokenizer/pieces.hpp"

using namespace dt::tokenizer;
using Counts = std::map<std::string, std::uint64_t>;

namespace {

/// Returns words most of which are rare.
std::string random_text(unsigned seed, int num_words) {
  std::mt19937 random(seed);
  std::string text;
  for (int i = 0; i < num_words; ++i) text += " w" + std::to_string(random() % (1 + random() % 200000));
  return text;
}

Counts counts_of(WordCounts& counts) {
  Counts result;
  for (const CountedWord& word : counts.words()) {
    REQUIRE(result.emplace(word.bytes, word.count).second);
  }
  return result;
}

}  // namespace

TEST_CASE("word counts: threads together count each word as often as it is there") {
  const auto splitter = make_scanner(Pattern::gpt2);
  WordCounts counts;
  Counts expected;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 3; ++i) {
    const std::vector<std::string> texts = {random_text(i, 5000),
                                            random_text(i + 10, 100000)};  // more words than are kept
    for (const std::string& text : texts) {
      for (const std::string& piece : dt_test::pieces_of(*splitter, text)) ++expected[piece];
    }
    threads.emplace_back([&, texts] {
      WordCounter& counter = counts.counter(*splitter);
      for (const std::string& text : texts) counter.count(text);
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(counts_of(counts) == expected);
}

TEST_CASE("word counts: words of zero bytes and of many bytes are words") {
  const auto splitter = make_scanner(Pattern::gpt2);
  WordCounts counts;
  WordCounter& counter = counts.counter(*splitter);
  const std::string zeros(3, '\0'), word(3 << 20, 'x');
  counter.count(zeros);
  counter.count(word);
  counter.count(word);
  REQUIRE(counts_of(counts) == Counts{{zeros, 1}, {word, 2}});
}
