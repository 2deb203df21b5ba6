#include "data/build/train_tokenizer.hpp"

#include <utility>

#include "data/build/encode_inputs.hpp"
#include "tokenizer/encode/scanners.hpp"
#include "tokenizer/files/hf_tokenizer.hpp"
#include "tokenizer/train/bpe_trainer.hpp"

namespace dt::data {

namespace {

constexpr const char* origin = "the new tokenizer";
constexpr std::uint32_t end_of_text = 0;

class CountingEncoder final : public TextEncoder {
 public:
  explicit CountingEncoder(tokenizer::WordCounter& counter) : counter_(counter) {}
  void encode(std::string_view text, std::vector<std::uint32_t>&) override { counter_.count(text); }

 private:
  tokenizer::WordCounter& counter_;
};

/// Splits text into words as the trained tokenizer will. Its encoders count words and produce no
/// ids.
class WordCountingTokenizer final : public Tokenizer {
 public:
  explicit WordCountingTokenizer(const std::string& untrained)
      : splitter_(tokenizer::read_hugging_face(untrained, origin)),
        untrained_(trained_tokenizer(untrained)) {}
  std::vector<tokenizer::CountedWord> words() { return counts_.words(); }

  const TokenizerIdentity& info() const override { return untrained_->info(); }
  std::size_t safe_cut(std::string_view text) const override { return untrained_->safe_cut(text); }
  std::unique_ptr<TextEncoder> encoder() const override {
    return std::make_unique<CountingEncoder>(counts_.counter(*splitter_.pre_tokenizer));
  }
  std::string decode(std::span<const std::uint32_t> ids) const override { return untrained_->decode(ids); }
  void save(const fs::path& folder) const override { untrained_->save(folder); }

 private:
  tokenizer::Tokenizer splitter_;
  std::unique_ptr<Tokenizer> untrained_;
  mutable tokenizer::WordCounts counts_;
};

tokenizer::TrainOptions train_options(const MakeOptions& options) {
  tokenizer::TrainOptions train;
  train.vocabulary_size = options.train_vocabulary;
  train.min_pair_count = options.min_pair_count;
  if (!options.eos_token.empty()) train.end_of_text = options.eos_token;
  train.threads = options.threads;
  return train;
}

std::string trained_on(std::vector<tokenizer::CountedWord> words, const MakeOptions& options,
                       const MakeProgress& progress) {
  const tokenizer::TrainOptions train = train_options(options);
  const auto report = [&](tokenizer::Id done, tokenizer::Id total) {
    progress(MakePhase::learn, done, total);
  };
  const tokenizer::Bpe bpe = tokenizer::train_bpe(std::move(words), train, report);
  const std::string& pattern = options.tokenizer_pattern;
  return tokenizer::hugging_face_text(bpe, tokenizer::regex_of_text(pattern.empty() ? "gpt2" : pattern),
                                      {{end_of_text, train.end_of_text, true}});
}

}  // namespace

std::string train_tokenizer(const MakeOptions& options, const MakeProgress& progress) {
  WordCountingTokenizer counter(trained_on({}, options, [](auto...) {}));
  encode_inputs(
      options, counter, [](const DocumentTokens&) {},
      [&](std::uint64_t done, std::uint64_t total) { progress(MakePhase::count, done, total); });
  std::vector<tokenizer::CountedWord> words = counter.words();
  if (words.empty()) throw no_text_error(options);
  return trained_on(std::move(words), options, progress);
}

std::unique_ptr<Tokenizer> trained_tokenizer(std::string text) {
  return tokenizer_of_text(std::move(text), origin, end_of_text);
}

}  // namespace dt::data
