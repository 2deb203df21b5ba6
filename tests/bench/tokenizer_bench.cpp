// bench_tokenizer: measures bytes a second from text to ids, in one thread, by an encoder that begins
// without any cached pieces. DT_BENCH_TOKENIZER, with DT_BENCH_PATTERN for tiktoken's ranks, names a real
// vocabulary. DT_BENCH_ENGLISH and DT_BENCH_CODE name real texts, of some ten megabytes to be significant.
// Without them the texts are this repository's own, and tokens are the beginnings of their pieces. BM_split
// measures bytes a second of splitting alone, by a pattern's scanner and by its regular expression.
#include <algorithm>
#include <benchmark/benchmark.h>
#include <cctype>
#include <cstdlib>
#include <map>
#include <random>

#include "base/io/files.hpp"
#include "tokenizer/encode/encoder.hpp"
#include "tokenizer/encode/pattern_splitter.hpp"
#include "tokenizer/encode/scanners.hpp"
#include "tokenizer/files/read_tokenizer.hpp"

using namespace dt;
using namespace dt::tokenizer;

namespace {

std::string files_under(const fs::path& folder, const std::string& extension) {
  std::string text;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == extension) text += read_file(entry.path());
  }
  return text;
}

std::string text_of(const char* variable, const char* extension) {
  const char* const path = std::getenv(variable);
  if (path != nullptr) return read_file(path);
  return files_under(fs::path(DT_SOURCE_DIR) / "libcore", extension) +
         read_file(fs::path(DT_SOURCE_DIR) / "README.md");
}

const std::string& english() {
  static const std::string text = text_of("DT_BENCH_ENGLISH", ".md");
  return text;
}

const std::string& code() {
  static const std::string text = text_of("DT_BENCH_CODE", ".cpp");
  return text;
}

class Counter final : public PieceSink {
 public:
  std::map<std::string, int> counts;

 protected:
  void take(std::span<const std::string_view> pieces) override {
    for (const std::string_view piece : pieces) {
      for (std::size_t length = 2; length <= std::min<std::size_t>(piece.size(), 20); ++length)
        ++counts[std::string(piece.substr(0, length))];
    }
  }
};

/// Returns a tokenizer in which every beginning of a piece is a token, merged from the token that is a byte
/// shorter and the last byte.
Tokenizer of_beginnings() {
  Tokenizer tokenizer;
  tokenizer.pre_tokenizer = make_scanner(Pattern::llama3);
  Bpe& bpe = tokenizer.bpe;
  for (Id byte = 0; byte < 256; ++byte) {
    bpe.vocabulary.set(byte, std::string(1, static_cast<char>(byte)));
    bpe.byte_ids[byte] = byte;
  }
  Counter counter;
  tokenizer.pre_tokenizer->split(english(), counter);
  tokenizer.pre_tokenizer->split(code(), counter);
  counter.flush();
  for (const auto& [token, count] : counter.counts) {
    if (count < 5) continue;
    const Id id = bpe.vocabulary.size();
    const Id left = bpe.vocabulary.find(token.substr(0, token.size() - 1));
    bpe.vocabulary.set(id, token);
    bpe.merges.add(left, static_cast<unsigned char>(token.back()), {id, id});
  }
  return tokenizer;
}

const Tokenizer& tokenizer() {
  static const std::unique_ptr<const Tokenizer> it = [] {
    const char* const path = std::getenv("DT_BENCH_TOKENIZER");
    const char* const pattern = std::getenv("DT_BENCH_PATTERN");
    return path == nullptr ? std::make_unique<const Tokenizer>(of_beginnings())
                           : read_tokenizer(path, pattern == nullptr ? "" : pattern).tokenizer;
  }();
  return *it;
}

void encode(benchmark::State& state, const std::string& text) {
  std::vector<Id> ids;
  ids.reserve(text.size());
  for (auto _ : state) {
    state.PauseTiming();
    Encoder encoder(tokenizer());
    ids.clear();
    state.ResumeTiming();
    encoder.encode(text, ids);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
  state.counters["tokens"] = static_cast<double>(ids.size());
}

/// Returns a megabyte of random characters from `first` on.
std::string random_text(char first, unsigned num_characters) {
  std::mt19937 random(1);
  std::string text(1 << 20, '\0');
  for (char& c : text) c = static_cast<char>(static_cast<unsigned>(first) + random() % num_characters);
  return text;
}

/// Returns English without its spaces: one piece of real words.
std::string joined_words() {
  std::string text;
  for (const char c : english()) {
    if (text.size() < (1 << 20) && std::isalpha(static_cast<unsigned char>(c))) text += c;
  }
  return text;
}

class PieceCounter final : public PieceSink {
 public:
  std::size_t count = 0;

 protected:
  void take(std::span<const std::string_view> pieces) override { count += pieces.size(); }
};

void split(benchmark::State& state, const PreTokenizer& splitter, const std::string& all) {
  const std::string_view text = std::string_view(all).substr(0, std::size_t{4} << 20);
  PieceCounter counter;
  for (auto _ : state) {
    counter.count = 0;
    splitter.split(text, counter);
    counter.flush();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
  state.counters["pieces"] = static_cast<double>(counter.count);
}

void BM_split(benchmark::State& state, Pattern pattern, bool by_scanner, const std::string& (*text_of)()) {
  const auto splitter = by_scanner ? make_scanner(pattern)
                                   : make_regex_splitter(regex_of_pattern(pattern), SplitBehavior::isolated);
  split(state, *splitter, text_of());
}

void BM_split_by(benchmark::State& state, const char* regex, const std::string& (*text_of)()) {
  split(state, *make_regex_splitter(regex, SplitBehavior::isolated), text_of());
}

/// Splits in steps as DeepSeek's tokenizer does: each step splits the pieces that the step before left.
void BM_split_by_steps(benchmark::State& state, const std::string& (*text_of)()) {
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  for (const char* regex :
       {"\\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
        "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "
        "?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"})
    steps.push_back(make_regex_splitter(regex, SplitBehavior::isolated));
  split(state, *make_sequence(std::move(steps)), text_of());
}

void BM_english(benchmark::State& state) {
  encode(state, english());
}
void BM_code(benchmark::State& state) {
  encode(state, code());
}
void BM_words_without_spaces(benchmark::State& state) {
  encode(state, joined_words());
}
void BM_random_letters(benchmark::State& state) {
  encode(state, random_text('a', 26));
}
void BM_one_letter(benchmark::State& state) {
  encode(state, random_text('a', 1));
}
void BM_spaces(benchmark::State& state) {
  encode(state, random_text(' ', 1));
}
void BM_random_bytes(benchmark::State& state) {
  encode(state, random_text('\0', 256));
}

BENCHMARK_CAPTURE(BM_split, llama3_scanner_english, Pattern::llama3, true, english);
BENCHMARK_CAPTURE(BM_split, llama3_regex_english, Pattern::llama3, false, english);
BENCHMARK_CAPTURE(BM_split, o200k_scanner_english, Pattern::o200k, true, english);
BENCHMARK_CAPTURE(BM_split, o200k_regex_english, Pattern::o200k, false, english);
BENCHMARK_CAPTURE(BM_split, o200k_scanner_code, Pattern::o200k, true, code);
BENCHMARK_CAPTURE(BM_split, o200k_regex_code, Pattern::o200k, false, code);
BENCHMARK_CAPTURE(BM_split, tekken_scanner_code, Pattern::tekken, true, code);
BENCHMARK_CAPTURE(BM_split, tekken_regex_code, Pattern::tekken, false, code);
BENCHMARK_CAPTURE(BM_split_by_steps, deepseek_english, english);
BENCHMARK_CAPTURE(BM_split_by, rare_links_english, "https?://\\S+", english);
BENCHMARK_CAPTURE(BM_split_by, rare_spaces_english, " {2,}", english);
BENCHMARK_CAPTURE(BM_split_by, spaces_english, "\\s+", english);
BENCHMARK_CAPTURE(BM_split_by, each_character_english, "\\O", english);
BENCHMARK(BM_english)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_code)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_words_without_spaces)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_random_letters)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_one_letter)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_spaces)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_random_bytes)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
