#include "tokenizer/train/bpe_trainer.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>
#include <tuple>

#include "tokenizer/encode/byte_alphabet.hpp"

using namespace dt::tokenizer;

namespace {

using Corpus = std::map<std::string, std::uint64_t>;
using Pairs = std::vector<std::pair<Id, Id>>;

std::vector<CountedWord> words_of(const Corpus& corpus) {
  std::vector<CountedWord> words;
  for (const auto& [word, count] : corpus) words.push_back({word, count});
  return words;
}

Bpe trained(const Corpus& corpus, const TrainOptions& options) {
  return train_bpe(words_of(corpus), options, [](Id, Id) {});
}

/// Computes what the trainer promises, word by word. Counts all pairs anew for every merge.
class Reference {
 public:
  Reference(const Corpus& corpus, const TrainOptions& options) : options_(options) {
    texts_.push_back(options.end_of_text);
    std::map<std::string, char> bytes;
    for (int byte = 0; byte < 256; ++byte)
      bytes[in_alphabet(std::string(1, static_cast<char>(byte)))] = static_cast<char>(byte);
    for (const auto& [text, byte] : bytes) id_of(text);
    for (const auto& [word, count] : corpus) {
      words_.push_back({{}, static_cast<std::int64_t>(count)});
      for (const char byte : word) words_.back().ids.push_back(id_of(in_alphabet({&byte, 1})));
    }
    while (texts_.size() < options.vocabulary_size && merge_one()) {
    }
  }
  Pairs merges;

 private:
  struct Word {
    std::vector<Id> ids;
    std::int64_t count;
  };

  Id id_of(const std::string& text) {
    const auto found = std::find(texts_.begin(), texts_.end(), text);
    if (found == texts_.end()) texts_.push_back(text);
    return static_cast<Id>(std::find(texts_.begin(), texts_.end(), text) - texts_.begin());
  }

  bool merge_one() {
    std::map<std::pair<Id, Id>, std::int64_t> counts;
    for (const Word& word : words_) {
      for (std::size_t i = 1; i < word.ids.size(); ++i) counts[{word.ids[i - 1], word.ids[i]}] += word.count;
    }
    std::pair<Id, Id> best;
    std::int64_t most = 0;
    for (const auto& [pair, count] : counts) {
      if (count > most) std::tie(best, most) = std::tie(pair, count);
    }
    if (most < static_cast<std::int64_t>(options_.min_pair_count)) return false;
    merges.push_back(best);
    const Id merged = id_of(texts_[best.first] + texts_[best.second]);
    for (Word& word : words_) merge_in(word.ids, best, merged);
    return true;
  }

  static void merge_in(std::vector<Id>& ids, std::pair<Id, Id> pair, Id merged) {
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      if (ids[i] != pair.first || ids[i + 1] != pair.second) continue;
      ids[i] = merged;
      ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
  }

  const TrainOptions& options_;
  std::vector<std::string> texts_;
  std::vector<Word> words_;
};

/// Returns words of few letters, with many runs and equal counts. Counts go up to `max_count`;
/// small ones are more frequent.
Corpus random_corpus(std::mt19937& random, std::size_t num_words, unsigned num_letters,
                     std::uint64_t max_count) {
  Corpus corpus;
  for (std::size_t i = 0; i < num_words; ++i) {
    std::string word(1 + random() % 12, '\0');
    for (char& letter : word) letter = static_cast<char>('a' + random() % num_letters);
    corpus[word] += 1 + random() % (1 + random() % max_count);
  }
  return corpus;
}

}  // namespace

TEST_CASE("BPE trainer: each merge is of the pair that is most frequent then, of the lowest tokens") {
  std::mt19937 random(1);
  for (int round = 0; round < 150; ++round) {
    const std::uint64_t max_count = round % 3 == 0 ? 1 : round % 3 == 1 ? 20 : 4'000'000'000;
    const Corpus corpus = random_corpus(random, 1 + random() % 60, 1 + random() % 4, max_count);
    TrainOptions options{static_cast<Id>(257 + random() % 120)};
    if (round % 5 == 0) options.min_pair_count = 1 + random() % 10;
    const Bpe bpe = trained(corpus, options);
    const Reference reference(corpus, options);
    REQUIRE(bpe.merges.pairs() == reference.merges);
    REQUIRE(bpe.vocabulary.size() == 257 + reference.merges.size());
  }
}

TEST_CASE("BPE trainer: pairs that were too rare to keep are counted when others are used up") {
  std::mt19937 random(2);
  Corpus corpus = random_corpus(random, 100, 5, 1000);
  corpus["zzzzzzzz"] = 1'000'000'000'000;
  corpus["yx"] = 5'000'000;
  const TrainOptions options{500};
  REQUIRE(trained(corpus, options).merges.pairs() == Reference(corpus, options).merges);
}

TEST_CASE("BPE trainer: threads and the order of words change nothing") {
  Corpus corpus;
  for (int i = 0; i < 59049; ++i) {  // all words of ten letters from three: many places of each pair
    std::string word;
    for (int digit = 0, rest = i; digit < 10; ++digit, rest /= 3) word += static_cast<char>('a' + rest % 3);
    corpus[word] = 1 + static_cast<std::uint64_t>(i) % 7;
  }
  TrainOptions options{400};
  const Pairs expected = trained(corpus, options).merges.pairs();
  REQUIRE(expected.size() == 400 - 257);
  std::vector<CountedWord> words = words_of(corpus);
  std::shuffle(words.begin(), words.end(), std::mt19937(3));
  for (const int threads : {2, 3, 16}) {
    options.threads = threads;
    REQUIRE(train_bpe(words, options, [](Id, Id) {}).merges.pairs() == expected);
  }
}

TEST_CASE("BPE trainer: tokens are the text's end, bytes in the order of their characters, then merges") {
  const Bpe bpe = trained({{"\xE4\xE4", 3}, {"ab", 2}, {"abc", 2}}, TrainOptions{1000});
  REQUIRE(bpe.vocabulary.bytes(0) == "<|endoftext|>");
  REQUIRE(bpe.vocabulary.bytes(1) == "!");
  REQUIRE(bpe.vocabulary.bytes(94) == "~");
  REQUIRE(bpe.vocabulary.bytes(95) == "\xA1");
  REQUIRE(bpe.vocabulary.bytes(189) == std::string(1, '\0'));
  REQUIRE(bpe.byte_ids['!'] == 1);
  REQUIRE(bpe.byte_ids[' '] == 189 + 32);
  REQUIRE(bpe.vocabulary.size() == 257 + 3);
  REQUIRE(bpe.vocabulary.bytes(257) == "ab");
  REQUIRE(bpe.vocabulary.bytes(258) == "\xE4\xE4");
  REQUIRE(bpe.vocabulary.bytes(259) == "abc");
}

TEST_CASE("BPE trainer: where words hold the text that ends texts, it is that token") {
  std::mt19937 random(4);
  for (const char* end_of_text : {"ab", "aab", "b", "\u0120", "a text"}) {
    const Corpus corpus = random_corpus(random, 50, 2, 10);
    TrainOptions options{290};
    options.end_of_text = end_of_text;
    REQUIRE(trained(corpus, options).merges.pairs() == Reference(corpus, options).merges);
  }
}

TEST_CASE("BPE trainer: no words, no merges; progress may stop it") {
  REQUIRE(trained({}, TrainOptions{300}).merges.size() == 0);
  std::mt19937 random(5);
  const Corpus corpus = random_corpus(random, 1000, 10, 10);
  const auto stop = [](Id done, Id) {
    if (done >= 512) throw done;
  };
  REQUIRE_THROWS_AS(train_bpe(words_of(corpus), TrainOptions{1000}, stop), Id);
}
