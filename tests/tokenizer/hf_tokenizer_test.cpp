#include "tokenizer/files/hf_tokenizer.hpp"

#include <catch2/catch.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/test_folder.hpp"
#include "tokenizer/encode/byte_alphabet.hpp"
#include "tokenizer/encode/encoder.hpp"

using namespace dt::tokenizer;
using nlohmann::json;
using Ids = std::vector<Id>;

namespace {

/// Returns a file in which bytes are 0 to 255, and merges 256 on: "he", "ll", "hell", "hello",
/// " w". <|end|> is 261, the vocabulary's size.
json byte_level() {
  json vocab, merges = json::array();
  for (int byte = 0; byte < 256; ++byte) vocab[in_alphabet(std::string(1, static_cast<char>(byte)))] = byte;
  const std::pair<const char*, const char*> pairs[] = {
      {"h", "e"}, {"l", "l"}, {"he", "ll"}, {"hell", "o"}, {"\u0120", "w"}};
  for (const auto& [left, right] : pairs) {
    vocab[std::string(left) + right] = vocab.size();
    merges.push_back(std::string(left) + " " + right);
  }
  return {{"added_tokens", {{{"id", 261}, {"content", "<|end|>"}, {"special", true}}}},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
          {"post_processor", {{"type", "ByteLevel"}}},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}}}};
}

/// Returns a file of characters and bytes. Of the characters, only a and the space are tokens.
json byte_fallback() {
  json vocab = {{"<unk>", 0}, {"a", 300}, {"\u2581", 301}, {"\u2581a", 302}};
  for (int byte = 0; byte < 256; ++byte) vocab[fmt::format("<0x{:02X}>", byte)] = byte + 1;
  return {{"normalizer",
           {{"type", "Sequence"},
            {"normalizers",
             {{{"type", "Prepend"}, {"prepend", "\u2581"}},
              {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}}}}}},
          {"pre_tokenizer", nullptr},
          {"decoder",
           {{"type", "Sequence"},
            {"decoders",
             {{{"type", "Replace"}, {"pattern", {{"String", "\u2581"}}}, {"content", " "}},
              {{"type", "ByteFallback"}},
              {{"type", "Fuse"}},
              {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}}},
          {"model",
           {{"type", "BPE"},
            {"unk_token", "<unk>"},
            {"fuse_unk", true},
            {"byte_fallback", true},
            {"vocab", vocab},
            {"merges", json::array({json::array({"\u2581", "a"})})}}}};
}

Tokenizer read(const json& file) {
  return read_hugging_face(file.dump(), "t.json");
}

Ids encoded(const Tokenizer& tokenizer, std::string_view text) {
  Ids ids;
  Encoder(tokenizer).encode(text, ids);
  return ids;
}

std::string decoded(const Tokenizer& tokenizer, const Ids& ids) {
  return decode(tokenizer.bpe.vocabulary, tokenizer.decoder, ids);
}

/// Returns the message of reading a file in which the value at `path` is replaced.
std::string refusal(json file, const std::string& path, const json& value) {
  file[json::json_pointer(path)] = value;
  return dt_test::caught([&] { read(file); }).message;
}

}  // namespace

TEST_CASE("tokenizer.json: byte-level merges in the order of their ranks") {
  const Tokenizer tokenizer = read(byte_level());
  CHECK(encoded(tokenizer, "hello world") == Ids{259, 260, 'o', 'r', 'l', 'd'});
  CHECK(encoded(tokenizer, "\u00e9") == Ids{0xC3, 0xA9});
  CHECK(decoded(tokenizer, {259, 260, 0xC3, 0xA9, 261}) == "hello w\u00e9<|end|>");
  CHECK(dt_test::caught([&] { decoded(tokenizer, {299}); }).says("token 299 is outside the vocabulary"));
}

TEST_CASE("tokenizer.json: added tokens are found before anything else, with the space that they take") {
  json file = byte_level();
  CHECK(encoded(read(file), "he<|end|>he") == Ids{256, 261, 256});
  CHECK(encoded(read(file), "he <|end|>  he") == Ids{256, ' ', 261, ' ', ' ', 256});
  file["added_tokens"][0]["lstrip"] = file["added_tokens"][0]["rstrip"] = true;
  CHECK(encoded(read(file), "he <|end|>  he") == Ids{256, 261, 256});
  file["added_tokens"].push_back({{"id", 262}, {"content", " h"}, {"normalized", false}});
  // A space that <|end|> takes may begin another token.
  CHECK(encoded(read(file), "<|end|>  he") == Ids{261, 262, 'e'});
}

namespace {

/// Reads byte_level() with these added tokens: pairs of content and other members.
Tokenizer with_added(std::vector<std::pair<std::string, json>> tokens, const json& more_tokens = {}) {
  json file = byte_level();
  for (const auto& [text, id] : more_tokens.items()) file["model"]["vocab"][text] = id;
  file["added_tokens"] = json::array();
  for (auto& [content, members] : tokens) {
    json token = {{"id", 485}, {"content", content}, {"normalized", false}};
    if (!members.is_null()) token.update(members);
    file["added_tokens"].push_back(token);
  }
  return read(file);
}

}  // namespace

// The expected ids are those of tokenizers 0.23.
TEST_CASE("tokenizer.json: added tokens have the vocabulary's id or the next one, whatever the file says") {
  const Tokenizer next = with_added({{"<x>", {}}, {"", {}}, {"hello", {}}, {"<y>", {}}});
  CHECK(encoded(next, "a<x>hello<y>") == Ids{'a', 261, 259, 262});
  CHECK(next.bpe.vocabulary.size() == 263);
  const Tokenizer gap = with_added({{"far", {}}, {"<x>", {}}, {"<y>", {}}}, {{"far", 1000}});
  CHECK(encoded(gap, "far<x><y>") == Ids{1000, 262, 263});
  CHECK(decoded(gap, {262, 1000}) == "<x>far");
  CHECK_THROWS(decoded(gap, {264, 1001}));
}

TEST_CASE("tokenizer.json: of added tokens with one id or content the last is found") {
  const Tokenizer taken = with_added({{"<x>", {}}, {"far", {}}}, {{"far", 262}});  // 262 tokens: <x> is 262
  CHECK(encoded(taken, "far") == Ids{262});
  CHECK(encoded(taken, "<x>") == Ids{'<', 'x', '>'});
  const Tokenizer taking = with_added({{"far", {}}, {"<x>", {}}}, {{"far", 262}});
  CHECK(encoded(taking, "far") == Ids{'f', 'a', 'r'});
  CHECK(encoded(taking, "<x>") == Ids{262});
  CHECK(decoded(taking, {262}) == "<x>");
  const Tokenizer twice =
      with_added({{"<x>", {{"lstrip", true}, {"special", true}}}, {"<x>", {{"rstrip", true}}}});
  CHECK(encoded(twice, "a <x> a") == Ids{'a', ' ', 261, 'a'});
  Ids plain;
  Encoder(twice).encode_without_specials("<x>", plain);
  CHECK(plain == Ids{'<', 'x', '>'});  // a token that is special once is special
}

TEST_CASE("tokenizer.json: added tokens that are found by the same text are refused") {
  json file = byte_level();
  file["normalizer"] = {{"type", "Lowercase"}};
  file["added_tokens"] = {{{"id", 261}, {"content", "<X>"}}, {{"id", 262}, {"content", "<x>"}}};
  CHECK(dt_test::caught([&] {
          read(file);
        }).says("t.json: added_tokens: the tokens 261 and 262 are both found in text as \"<x>\""));
  file["added_tokens"][0]["normalized"] = false;
  CHECK(encoded(read(file), "<X><x>") == Ids{261, 262});
}

TEST_CASE("tokenizer.json: with ignore_merges a piece that is a token is that token") {
  json file = byte_level();
  file["model"]["vocab"]["lo"] = 261;
  CHECK(encoded(read(file), "lo") == Ids{'l', 'o'});
  file["model"]["ignore_merges"] = true;
  CHECK(encoded(read(file), "lo") == Ids{261});
}

TEST_CASE("tokenizer.json: pre-tokenizers one after another, a space before the text") {
  json file = byte_level();
  file["pre_tokenizer"] = {{"type", "Sequence"},
                           {"pretokenizers",
                            {{{"type", "Split"},
                              {"pattern", {{"String", "e"}}},
                              {"behavior", "MergedWithNext"},
                              {"invert", false}},
                             {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}};
  CHECK(encoded(read(file), "he w") == Ids{'h', 'e', 260});
  file = byte_level();
  file["pre_tokenizer"]["add_prefix_space"] = true;
  CHECK(encoded(read(file), "w w") == Ids{260, 260});
}

TEST_CASE("tokenizer.json: characters fall back to bytes, and come back") {
  const Tokenizer tokenizer = read(byte_fallback());
  CHECK(encoded(tokenizer, "a ab\u00e9") == Ids{302, 302, 'b' + 1, 0xC3 + 1, 0xA9 + 1});
  CHECK(decoded(tokenizer, encoded(tokenizer, "a ab\u00e9")) == "a ab\u00e9");
  CHECK(decoded(tokenizer, {302, 0xC3 + 1, 302}) == "a\uFFFD a");
}

TEST_CASE("tokenizer.json: without bytes unknown characters are one token, or one each") {
  json file = byte_fallback();
  file["model"]["byte_fallback"] = false;
  CHECK(encoded(read(file), "a\u00e9\u00e9a") == Ids{302, 0, 300});
  file["model"]["fuse_unk"] = false;
  CHECK(encoded(read(file), "a\u00e9\u00e9a") == Ids{302, 0, 0, 300});
}

TEST_CASE("tokenizer.json: what is not known or followed is refused with its path") {
  const json file = byte_level();
  CHECK(refusal(file, "/model/type", "Unigram")
            .starts_with("t.json: model.type: the type \"Unigram\" is not supported"));
  CHECK(refusal(file, "/normalizer", {{"type", "BertNormalizer"}})
            .starts_with("t.json: normalizer.type: the type \"BertNormalizer\""));
  const json steps = {{"type", "Sequence"}, {"pretokenizers", {{{"type", "Digits"}}, {{"type", "Bert"}}}}};
  CHECK(refusal(file, "/pre_tokenizer", steps)
            .starts_with("t.json: pre_tokenizer.pretokenizers[1].type: the type \"Bert\""));
  CHECK(
      refusal(file, "/post_processor/type", "X").starts_with("t.json: post_processor.type: the type \"X\""));
  CHECK(refusal(file, "/decoder/type", "CTC").starts_with("t.json: decoder.type: the type \"CTC\""));
  CHECK(refusal(file, "/model/end_of_word_suffix", "</w>")
            .starts_with("t.json: model.end_of_word_suffix: is not supported"));
  CHECK(refusal(file, "/model/dropout", 0.1).starts_with("t.json: model.dropout: is not supported"));
}

TEST_CASE("tokenizer.json: settings that change nothing are read") {
  json file = byte_level();
  const auto expected = encoded(read(file), "ab a");
  file["model"]["dropout"] = 0.0;
  file["model"]["unk_token"] = "<unk>";  // no token, but never needed: every byte is a token
  CHECK(encoded(read(file), "ab a") == expected);
  file["model"]["dropout"] = 0;
  CHECK(encoded(read(file), "ab a") == expected);
}

TEST_CASE("tokenizer.json: steps after ByteLevel split what bytes are written as") {
  json file = byte_level();
  const json level = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  const json split = {{"type", "Split"}, {"pattern", {{"String", "e"}}}, {"behavior", "Isolated"}},
             space = {{"type", "Split"}, {"pattern", {{"String", "\u0120"}}}, {"behavior", "Isolated"}};
  const auto with = [&](std::vector<json> steps) {
    file["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}};
    return encoded(read(file), "he w");
  };
  CHECK(with({level}) == Ids{256, 260});
  CHECK(with({level, split}) == Ids{'h', 'e', 260});
  CHECK(with({level, space}) == Ids{256, ' ', 'w'});
  CHECK(with({split, level, space}) == Ids{'h', 'e', ' ', 'w'});
  CHECK(with({{{"type", "Sequence"}, {"pretokenizers", {split, level}}}, space}) == Ids{'h', 'e', ' ', 'w'});
}

TEST_CASE("tokenizer.json: a step that changes what was split or written in the alphabet is refused") {
  const json file = byte_level();
  const json level = {{"type", "ByteLevel"}, {"use_regex", false}}, digits = {{"type", "Digits"}};
  const auto refused = [&](std::vector<json> steps) {
    return refusal(file, "/pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}});
  };
  CHECK(refused({level, level}).find("pretokenizers[1]: a step that changes text after ByteLevel is not") !=
        std::string::npos);
  CHECK(
      refused({digits, level}).find("pretokenizers[1]: a step that changes text after a step that splits") !=
      std::string::npos);
}

TEST_CASE("tokenizer.json: texts may get two prefixes") {
  json file = byte_level();
  const json metaspace = {{"type", "Metaspace"}, {"replacement", "_"}, {"split", false}},
             level = {{"type", "ByteLevel"}, {"use_regex", false}};
  file["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {metaspace, level}}};
  CHECK(encoded(read(file), "h w") == Ids{' ', '_', 'h', '_', 'w'});
}

TEST_CASE(
    "tokenizer.json: text in lower case without accents, and added tokens that are single words of it") {
  json file = byte_level();
  file["normalizer"] = {
      {"type", "Sequence"},
      {"normalizers", {{{"type", "Lowercase"}}, {{"type", "NFD"}}, {{"type", "StripAccents"}}}}};
  file["added_tokens"] = {{{"id", 261}, {"content", "\u00c9T"}, {"single_word", true}}};
  const Tokenizer tokenizer = read(file);
  CHECK(encoded(tokenizer, "H\u00c9") == Ids{256});
  CHECK(encoded(tokenizer, "Et\u0301") == Ids{261});
  CHECK(encoded(tokenizer, "ets") == Ids{'e', 't', 's'});
}

TEST_CASE("hf tokenizer: the steps of a tokenizer are counted through Sequences") {
  const auto with_steps = [](int num_sequences, int num_each) {
    json split = {{"type", "Split"}, {"pattern", {{"String", "x"}}}, {"behavior", "Isolated"}};
    json inner = {{"type", "Sequence"}, {"pretokenizers", json::array()}};
    for (int i = 0; i < num_each; ++i) inner["pretokenizers"].push_back(split);
    json file = byte_fallback();
    file["normalizer"] = {{"type", "NFC"}};
    file["decoder"] = nullptr;
    file["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", json::array()}};
    for (int i = 0; i < num_sequences; ++i) file["pre_tokenizer"]["pretokenizers"].push_back(inner);
    return file;
  };
  CHECK_NOTHROW(read(with_steps(1, 127)));
  const auto error = dt_test::caught([&] { read(with_steps(100, 100)); });
  CHECK(error.kind == dt::ErrorKind::input);
  CHECK(error.says("t.json: pre_tokenizer.pretokenizers[1].pretokenizers[27]: is step 129 of the tokenizer"));
  CHECK(dt_test::caught([&] { read(with_steps(200, 0)); }).says("is step 129"));
}

TEST_CASE("tokenizer.json: what is broken is refused with its path") {
  const json file = byte_level();
  CHECK(refusal(file, "/model/merges/1", "l x")
            .starts_with("t.json: model.merges[1]: \"x\" is not in the vocabulary") == false);
  CHECK(refusal(file, "/model/merges/1", "l zz")
            .starts_with("t.json: model.merges[1]: \"zz\" is not in the vocabulary"));
  CHECK(refusal(file, "/model/merges/1", "l")
            .starts_with("t.json: model.merges[1]: expected two tokens separated by a space"));
  CHECK(refusal(file, "/model/vocab/x", -1)
            .starts_with("t.json: member 'model.vocab.x' is not an unsigned integer"));
  CHECK(refusal(file, "/model/vocab/x", 1u << 31)
            .starts_with("t.json: model.vocab: the id of \"x\" is not below"));
  CHECK(refusal(file, "/model", nullptr).starts_with("t.json: member 'model' is not an object (it is null)"));
  CHECK(dt_test::caught([] {
          read_hugging_face("{\n\"a\": x}", "t.json");
        }).says("t.json: line 2 is not valid JSON"));
  const std::string deep = "{\"pre_tokenizer\":" + std::string(100'000, '[') + "}";
  CHECK(dt_test::caught([&] { read_hugging_face(deep, "t.json"); }).says("nests more than 100 levels deep"));
  CHECK(dt_test::caught([] { read_hugging_face("{}", "t.json"); }).says("t.json: member 'model' is missing"));
}

TEST_CASE("tokenizer.json: merges of one rank go from left to right") {
  json file = byte_level();
  file["model"]["merges"] = {"l l", "h e", "e l"};
  file["model"]["vocab"]["el"] = 261;
  file["model"]["dt_ties"] = {2};
  const Tokenizer tokenizer = read(file);
  CHECK(encoded(tokenizer, "hel") == Ids{256, 'l'});
  file["model"]["merges"] = {"l l", "e l", "h e"};
  CHECK(encoded(read(file), "hel") == Ids{256, 'l'});
  CHECK(
      refusal(file, "/model/dt_ties", {0}).find("dt_ties[0]: is not the index of a second or later merge") !=
      std::string::npos);
  CHECK(refusal(file, "/model/dt_ties", {3}).find("is not the index of a second or later merge") !=
        std::string::npos);
}

TEST_CASE("tokenizer.json: added tokens that are found in normalised text as they are, or nowhere") {
  json file = byte_fallback();
  file["added_tokens"] = {
      {{"id", 300}, {"content", "a"}, {"normalized", false}, {"dt_found_in", "normalized text"}},
      {{"id", 0}, {"content", "<unk>"}, {"special", true}, {"dt_found_in", "nothing"}}};
  const Tokenizer tokenizer = read(file);
  CHECK(encoded(tokenizer, "a") == Ids{301, 300});
  CHECK(encoded(tokenizer, "<unk>").size() == 6);
  CHECK(refusal(file, "/added_tokens/0/dt_found_in", "here").find("added_tokens[0].dt_found_in: is not") !=
        std::string::npos);
}

TEST_CASE("tokenizer.json: a charsmap is base64 of one") {
  const json step = {{"type", "Precompiled"}, {"precompiled_charsmap", "*"}};
  CHECK(refusal(byte_level(), "/normalizer", step)
            .starts_with("t.json: normalizer.precompiled_charsmap: is not valid base64"));
}

TEST_CASE("tokenizer.json: what a decoder takes away is something") {
  const json strip = {{"type", "Strip"}, {"content", ""}, {"start", 1}, {"stop", 0}};
  CHECK(refusal(byte_fallback(), "/decoder", strip).starts_with("t.json: decoder.content: is empty"));
  const json metaspace = {{"type", "Metaspace"}, {"replacement", ""}};
  CHECK(refusal(byte_fallback(), "/decoder", metaspace).starts_with("t.json: decoder.replacement: is empty"));
}

TEST_CASE("tokenizer.json: steps that each make many characters of one do not make gigabytes of a line") {
  const json step = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aaaaaaaaaa"}};
  json file = byte_fallback();
  file["normalizer"] = {{"type", "Sequence"}, {"normalizers", json(12, step)}};
  const auto refused = [](auto run) { return dt_test::caught(run).says("more than 64-fold"); };
  CHECK(encoded(read(file), "bbb").size() == 3);
  CHECK(refused([&] { encoded(read(file), "a"); }));
  // The limit also holds for the parts of a text together.
  file = byte_fallback();
  file["normalizer"] = {{"type", "Prepend"}, {"prepend", std::string(900, 'a')}};
  file["added_tokens"] = json::array({{{"id", 0}, {"content", "<unk>"}, {"special", true}}});
  CHECK(encoded(read(file), "b<unk>").size() == 902);
  CHECK(refused([&] {
    std::string text;
    for (int i = 0; i < 10; ++i) text += "b<unk>";
    encoded(read(file), text);
  }));
  file["normalizer"] = nullptr;
  file["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", std::string(900, 'a')}};
  CHECK(refused([&] { encoded(read(file), "b<unk>c<unk>d"); }));
  file = byte_fallback();
  file["decoder"] = {{"type", "Sequence"}, {"decoders", json(12, step)}};
  CHECK(decoded(read(file), {'b' + 1}) == "<0x62>");
  CHECK(refused([&] { decoded(read(file), {300}); }));
}

TEST_CASE("tokenizer.json: a text that is refused changes nothing for the next one") {
  json file = byte_fallback();
  const json step = {
      {"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(2000, 'a')}};
  file["normalizer"] = step;
  file["added_tokens"] = json::array({{{"id", 0}, {"content", "<unk>"}, {"special", true}}});
  const Tokenizer tokenizer = read(file);
  Encoder encoder(tokenizer);
  Ids ids;
  CHECK_THROWS(encoder.encode_without_specials("a", ids));
  ids.clear();
  encoder.encode("b<unk>", ids);
  CHECK(ids == Ids{'b' + 1, 0});
}
