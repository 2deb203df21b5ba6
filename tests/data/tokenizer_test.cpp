#include "data/tokenizer.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/numeric/digest.hpp"
#include "base/test_folder.hpp"
#include "data/build/tokenizer_config.hpp"

using namespace dt;
using namespace dt::data;
using dt_test::caught;

TEST_CASE("bytes: tokens are the bytes of the text, after what is there already") {
  const auto tokenizer = make_tokenizer("bytes");
  CHECK(tokenizer->info().vocabulary_size == 257);
  CHECK(tokenizer->info().eos == 256);
  std::vector<std::uint32_t> ids = {7};
  tokenizer->encoder()->encode("aä", ids);
  CHECK(ids == std::vector<std::uint32_t>{7, 97, 0xC3, 0xA4});
}

TEST_CASE("bytes: any cut is safe, and parts give what the whole gives") {
  const auto tokenizer = make_tokenizer("bytes");
  const std::string text = "some text, 日本語";
  CHECK(tokenizer->safe_cut(text) == text.size());
  std::vector<std::uint32_t> whole;
  tokenizer->encoder()->encode(text, whole);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    std::vector<std::uint32_t> parts;
    tokenizer->encoder()->encode(text.substr(0, cut), parts);
    tokenizer->encoder()->encode(text.substr(cut), parts);
    CHECK(parts == whole);
  }
}

TEST_CASE("bytes: decoding is the inverse, with a marker for EOS") {
  const auto tokenizer = make_tokenizer("bytes");
  const std::vector<std::uint32_t> ids = {104, 105, 256, 0xC3, 0xA4};
  CHECK(tokenizer->decode(ids) == "hi<|endoftext|>ä");
  const std::vector<std::uint32_t> outside = {257};
  CHECK(caught([&] { tokenizer->decode(outside); }).says("token 257 is outside the vocabulary of 257"));
}

TEST_CASE("a tokenizer's digest is that of the file it saves") {
  const dt_test::Folder folder;
  const auto tokenizer = make_tokenizer("bytes");
  tokenizer->save(folder.path());
  CHECK(digest(read_file(folder / "tokenizer.json")) == tokenizer->info().digest);
  CHECK(to_hex(tokenizer->info().digest) == "e34d6d5c5e766ff4");  // datasets on disk carry this digest
}

TEST_CASE("an unknown tokenizer is an input error that says which are known") {
  const auto error = caught([] { make_tokenizer("gpt9"); });
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.says("'gpt9'"));
  CHECK(error.says("bytes"));
}

TEST_CASE("what lies beside a tokenizer's file: its chat template and the special tokens that it has") {
  const dt_test::Folder folder;
  const fs::path file = folder / "tokenizer.json";
  dt_test::put(
      file,
      R"({"version": "1.0", "model": {"type": "BPE", "vocab": {"a": 0, "<s>": 1, "</s>": 2, "<|im_end|>": 3},
    "merges": []}, "added_tokens": [{"id": 1, "content": "<s>", "special": true},
    {"id": 2, "content": "</s>", "special": true}, {"id": 3, "content": "<|im_end|>", "special": true}]})");
  const auto tokenizer = make_tokenizer(file.string(), "", "</s>");
  std::string warned;
  const auto warn = [&](const std::string& text) { warned += text; };
  CHECK(tokenizer_config_files(file, *tokenizer, warn).empty());
  dt_test::put(folder / "tokenizer_config.json",
               R"({"bos_token": {"content": "<s>"}, "eos_token": "<|im_end|>",
    "pad_token": "<pad>", "unk_token": null, "chat_template": "{{ messages }}", "auto_map": {"AutoTokenizer": ["x.Y"]}})");
  dt_test::put(folder / "chat_template.jinja", "{{ bos_token }}\n");
  auto files = tokenizer_config_files(file, *tokenizer, warn);
  CHECK(warned.empty());
  CHECK(nlohmann::json::parse(files.at("tokenizer_config.json")) ==
        nlohmann::json{{"tokenizer_class", "PreTrainedTokenizerFast"},
                       {"clean_up_tokenization_spaces", false},
                       {"bos_token", {{"content", "<s>"}}},
                       {"eos_token", "</s>"},
                       {"chat_template", "{{ messages }}"}});
  CHECK(files.at("chat_template.jinja") == "{{ bos_token }}\n");
  for (const char* text : {"[]", R"({"a": NaN})", R"({"a": 1e400})"}) {
    warned.clear();
    dt_test::put(folder / "tokenizer_config.json", text);
    files = tokenizer_config_files(file, *tokenizer, warn);
    CHECK(files.size() == 1);  // the template
    CHECK_THAT(warned,
               Catch::Contains("tokenizer_config.json: ") && Catch::Contains("made without this file"));
  }
}
