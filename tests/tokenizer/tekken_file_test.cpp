#include "tokenizer/files/tekken_file.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/test_folder.hpp"
#include "tokenizer/encode/encoder.hpp"
#include "tokenizer/files/base64.hpp"
#include "tokenizer/files/hf_tokenizer.hpp"

using namespace dt::tokenizer;
using nlohmann::json;
using Ids = std::vector<Id>;

namespace {

/// Returns a file in which bytes have the ranks 0 to 255, and "bc" and "ab" the next. Ids are ranks
/// plus 5. "abc" is beyond the model's vocabulary.
json file() {
  json vocab = json::array();
  for (int byte = 0; byte < 256; ++byte)
    vocab.push_back({{"rank", byte}, {"token_bytes", to_base64(std::string(1, static_cast<char>(byte)))}});
  for (const char* token : {"bc", "ab", "abc"})
    vocab.push_back({{"rank", vocab.size()}, {"token_bytes", to_base64(token)}, {"token_str", token}});
  return {{"config",
           {{"pattern", "[a-z]+|[^a-z]"}, {"default_vocab_size", 263}, {"default_num_special_tokens", 5}}},
          {"vocab", vocab}};
}

Tokenizer read(const json& content) {
  return read_hugging_face(tekken_as_hugging_face(content.dump(), "t"), "j");
}

Ids encoded(const Tokenizer& tokenizer, std::string_view text) {
  Ids ids;
  Encoder(tokenizer).encode(text, ids);
  return ids;
}

std::string refusal(json content, const std::string& path, const json& value) {
  content[json::json_pointer(path)] = value;
  return dt_test::caught([&] { read(content); }).message;
}

}  // namespace

TEST_CASE("tekken: ids follow the special tokens', and what is beyond the vocabulary is none") {
  const Tokenizer tokenizer = read(file());
  CHECK(tokenizer.bpe.vocabulary.size() == 263);
  CHECK(encoded(tokenizer, "abc ab") == Ids{5 + 'a', 261, 5 + ' ', 262});
  CHECK(decode(tokenizer.bpe.vocabulary, tokenizer.decoder, Ids{261, 262}) == "bcab");
}

TEST_CASE("tekken: special tokens are found in no text, and one ends documents") {
  CHECK(read(file()).end_of_text == 2);
  CHECK(read(file()).bpe.vocabulary.bytes(4) == "<SPECIAL_4>");
  json content = file();
  content["special_tokens"] = {{{"rank", 1}, {"token_str", "</s>"}}, {{"rank", 3}, {"token_str", "<x>"}}};
  const Tokenizer tokenizer = read(content);
  CHECK(tokenizer.end_of_text == 1);
  CHECK(tokenizer.bpe.vocabulary.bytes(0) == "<SPECIAL_0>");
  CHECK(encoded(tokenizer, "<x>") == Ids{5 + '<', 5 + 'x', 5 + '>'});
}

TEST_CASE("tekken: known by its content; what is wrong is refused with its path") {
  CHECK(is_tekken_file(file().dump()));
  CHECK_FALSE(is_tekken_file(R"({"model": {"vocab": {"token_bytes": 0}}})"));
  CHECK_FALSE(is_tekken_file("{}"));
  CHECK(refusal(file(), "/vocab/7/rank", 8).starts_with("t: vocab[8]: is listed twice"));
  CHECK(refusal(file(), "/vocab/257/token_bytes", "YmM=").starts_with("t: vocab[257]: is listed twice"));
  CHECK(refusal(file(), "/vocab/7/token_bytes", "*")
            .starts_with("t: vocab[7].token_bytes: is not valid base64"));
  CHECK(refusal(file(), "/vocab/7/rank", 900).starts_with("t: vocab: no token has the rank 7"));
  CHECK(refusal(file(), "/config/default_vocab_size", 260)
            .starts_with("t: config.default_vocab_size: is outside the range 261"));
  CHECK(refusal(file(), "/config/default_num_special_tokens", std::uint64_t{0} - 256)
            .starts_with("t: config.default_num_special_tokens: is above"));
  CHECK(
      refusal(file(), "/config/default_vocab_size", 300).starts_with("t: vocab: no token has the rank 259"));
  CHECK(
      refusal(file(), "/special_tokens", {{{"rank", 5}, {"token_str", "x"}}}).find("rank: is not below 5") !=
      std::string::npos);
}
