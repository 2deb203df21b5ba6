#include "tokenizer/files/tiktoken_file.hpp"

#include <catch2/catch.hpp>
#include <fmt/core.h>
#include <random>

#include "base/test_folder.hpp"
#include "tokenizer/encode/encoder.hpp"
#include "tokenizer/files/base64.hpp"
#include "tokenizer/files/hf_tokenizer.hpp"

using namespace dt::tokenizer;
using Ids = std::vector<Id>;

namespace {

/// Returns a file in which bytes have the ranks 0 to 255, and tokens the ranks from 256 on.
std::string file_of(const std::vector<std::string>& tokens) {
  std::string text;
  for (int byte = 0; byte < 256; ++byte)
    text += fmt::format("{} {}\n", to_base64(std::string(1, static_cast<char>(byte))), byte);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    text += fmt::format("{} {}\n", to_base64(tokens[i]), 256 + i);
  return text;
}

Ids encoded(const Tokenizer& tokenizer, std::string_view text) {
  Ids ids;
  Encoder(tokenizer).encode(text, ids);
  return ids;
}

/// Encodes as tiktoken does: any two neighbours whose bytes together are a token may merge, the
/// token of the smallest rank first.
Ids encoded_by_bytes(const Vocabulary& vocabulary, const std::string& piece) {
  if (const Id whole = vocabulary.find(piece); whole != no_id) return {whole};
  std::vector<std::string> parts;
  for (const char byte : piece) parts.emplace_back(1, byte);
  while (true) {
    std::pair<Id, std::size_t> best{no_id, 0};
    for (std::size_t i = 0; i + 1 < parts.size(); ++i)
      best = std::min(best, {vocabulary.find(parts[i] + parts[i + 1]), i});
    if (best.first == no_id) break;
    parts[best.second] += parts[best.second + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best.second) + 1);
  }
  Ids ids;
  for (const std::string& part : parts) ids.push_back(vocabulary.find(part));
  return ids;
}

std::string refusal(const std::string& text, const std::string& pattern = "gpt2") {
  return dt_test::caught([&] { read_tiktoken(text, "t", pattern); }).message;
}

}  // namespace

TEST_CASE("tiktoken: ranks say what merges first") {
  const Tokenizer tokenizer = read_tiktoken(file_of({"bc", "ab", "abc", " a"}), "t", "gpt2");
  CHECK(encoded(tokenizer, "abc a") == Ids{258, 259});
  CHECK(encoded(tokenizer, "abcdab") == Ids{258, 'd', 257});
  CHECK(decode(tokenizer.bpe.vocabulary, tokenizer.decoder, Ids{258, 259, 0xFF}) == "abc a\xFF");
}

TEST_CASE("tiktoken: merges of any tokens in any order are those of their bytes") {
  std::mt19937 random(1);
  const auto word = [&](std::size_t most) {
    std::string text(1 + random() % most, 'a');
    for (char& c : text) c = static_cast<char>('a' + random() % 3);
    return text;
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> tokens;
    for (int i = 0; i < 30; ++i) {
      std::string token = word(5) + word(2);
      if (std::find(tokens.begin(), tokens.end(), token) == tokens.end()) tokens.push_back(std::move(token));
    }
    const Tokenizer tokenizer = read_tiktoken(file_of(tokens), "t", "llama3");
    for (int i = 0; i < 30; ++i) {
      const std::string piece = word(40);
      REQUIRE(encoded(tokenizer, piece) == encoded_by_bytes(tokenizer.bpe.vocabulary, piece));
    }
  }
}

TEST_CASE("tiktoken: as a tokenizer.json it is the same, and has the tokens that come after it") {
  const std::string ranks =
      file_of({"bc", "ab", "abc", " a", "zzz"});  // "zzz" is found only as a whole piece
  for (const char* pattern : {"gpt2", "cl100k", "\\w+|\\W"}) {
    const Tokenizer from_ranks = read_tiktoken(ranks, "t", pattern);
    const Tokenizer from_json = read_hugging_face(tiktoken_as_hugging_face(ranks, "t", pattern), "j");
    for (const char* text : {"abc abcd zzz", "zzzz a \n ", "\u00e9", ""})
      CHECK(encoded(from_json, text) == encoded(from_ranks, text));
  }
}

namespace {

/// Returns a token of six letters for an id.
std::string word_of(Id id) {
  std::string word = "z";
  for (int i = 0; i < 5; ++i, id /= 25) word += static_cast<char>('a' + id % 25);
  return word;
}

/// Returns ranks 0 to `count` − 1, without `hole`: the bytes, then word_of each other rank.
std::string many_ranks(Id count, Id hole = no_id) {
  std::vector<std::string> tokens;
  for (Id id = 256; id < count; ++id) tokens.push_back(word_of(id));
  std::string text = file_of(tokens);
  if (hole == no_id) return text;
  const std::string line = fmt::format("{} {}\n", to_base64(tokens[hole - 256]), hole);
  return text.erase(text.find(line), line.size());
}

Tokenizer known(const char* pattern, const std::string& ranks, const std::string& eos = {}) {
  return read_hugging_face(tiktoken_as_hugging_face(ranks, "t", pattern, eos), "j");
}

}  // namespace

TEST_CASE("tiktoken: ranks and pattern of a published encoding have its special tokens with their ids") {
  const Tokenizer p50k = known("gpt2", many_ranks(50281, 50256));
  CHECK(p50k.end_of_text == 50256);
  CHECK(p50k.bpe.vocabulary.size() == 50281);
  CHECK(encoded(p50k, "a<|endoftext|>" + word_of(50257)) == Ids{'a', 50256, 50257});
  CHECK(encoded(p50k, word_of(50280)) == Ids{50280});
  CHECK(known("gpt2", many_ranks(50256)).end_of_text == 50256);
  const Tokenizer cl100k = known("cl100k", many_ranks(100256));
  CHECK(encoded(cl100k, "<|endoftext|><|endofprompt|><|reserved|>").size() == 2 + 12);
  CHECK(cl100k.end_of_text == 100257);
  CHECK(cl100k.bpe.vocabulary.size() == 100277);
  CHECK_FALSE(cl100k.bpe.vocabulary.has(100256));
  CHECK(known("o200k", many_ranks(199998)).end_of_text == 199999);
}

TEST_CASE("tiktoken: other ranks have the end of text that is asked for, behind the last") {
  for (const auto& [pattern, ranks] : {std::pair("llama3", 50256), {"gpt2", 50255}, {"gpt2", 100256}})
    CHECK(known(pattern, many_ranks(static_cast<Id>(ranks))).end_of_text == no_id);
  CHECK(known("gpt2", many_ranks(50281, 50255)).end_of_text == no_id);  // p50k's number, another hole
  const Tokenizer added = known("cl100k", many_ranks(300, 290), "<|endoftext|>");
  CHECK(added.end_of_text == 300);
  CHECK(encoded(added, word_of(299) + "<|endoftext|>") == Ids{299, 300});
  CHECK_FALSE(added.bpe.vocabulary.has(290));
  CHECK(known("gpt2", many_ranks(300), "a").bpe.vocabulary.size() == 300);  // "a" is a token already
}

TEST_CASE("tiktoken: a pattern that leaves text out, or matches nothing, is refused") {
  const auto refused = [](const char* pattern) {
    const Tokenizer tokenizer = read_tiktoken(file_of({}), "t", pattern);
    return dt_test::caught([&] { encoded(tokenizer, "a12b3"); });
  };
  CHECK(refused("\\d+").says("the pattern \\d+ does not match \"a\""));
  CHECK(refused("\\d+|a").says("the pattern \\d+|a does not match \"b\""));
  CHECK(refused("\\w|(?=3)").message.empty());
  CHECK(refused("(?=a)|[a-z]|\\d").says("has an empty match before \"a12b3\""));
  CHECK(refused("\\d+").kind == dt::ErrorKind::input);
}

TEST_CASE("tiktoken: broken files are refused with the line") {
  const std::string whole = file_of({"ab"});
  CHECK(is_tiktoken_file(whole));
  CHECK_FALSE(is_tiktoken_file("some text\n"));
  CHECK_FALSE(is_tiktoken_file(""));
  CHECK(refusal(whole + "YWI 300\n").starts_with("t:258: the token is listed twice"));
  CHECK(refusal(whole + "YWJj 256\n").starts_with("t:258: two tokens have rank 256"));
  for (const char* line :
       {"YWJj\n", "Y*Jj 300", "YWJj 3x", "YWJj -1", "YWJj 4000000000", " 300", "YWJj 99999999999999"})
    CHECK(refusal(whole + line).starts_with("t:258: expected a token in base64 and its rank"));
  CHECK(refusal("AA== 0\n").starts_with("t: no token stands for the byte 0x01"));
  CHECK(refusal(whole, "a(").find("dt does not support the pattern a(: a parenthesis is not closed") !=
        std::string::npos);
}
