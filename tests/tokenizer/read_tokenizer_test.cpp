#include "tokenizer/files/read_tokenizer.hpp"

#include <catch2/catch.hpp>

#include "base/test_folder.hpp"

using namespace dt::tokenizer;

TEST_CASE("read tokenizer: by its content; what is none of them is refused") {
  const dt_test::Folder folder;
  const auto refusal = [&](const std::string& content, const std::string& pattern) {
    dt_test::put(folder / "t", content);
    return dt_test::caught([&] { read_tokenizer(folder / "t", pattern); });
  };
  CHECK(refusal(" {}", "").says("member 'model' is missing"));
  CHECK(refusal("{}", "gpt2").says("--tokenizer-pattern cannot be combined with it"));
  CHECK(refusal("AA== 0\n", "").says("does not define how text is split; give --tokenizer-pattern: gpt2"));
  CHECK(refusal("AA== 0\n", "gpt2").says("no token stands for the byte 0x01"));
  CHECK(refusal("\n\x0e\n\x05<unk>", "").says("is truncated"));
  CHECK(refusal("\n\x07\n\x05<unk>", "gpt2").says("--tokenizer-pattern cannot be combined with it"));
  CHECK(refusal("{\"config\": {}, \"vocab\": [{\"token_bytes\": 0}]}", "")
            .says("default_vocab_size' is missing"));
  CHECK(refusal("some text", "").says("is not a tokenizer file that dt knows"));
  CHECK(refusal("", "").kind == dt::ErrorKind::input);
  CHECK(dt_test::caught([&] { read_tokenizer(folder / "missing"); }).kind == dt::ErrorKind::input);
}

TEST_CASE("read tokenizer: errors of a part name the file") {
  const dt_test::Folder folder;
  const std::string path = (folder / "bad.json").string();
  const auto says = [&](const std::string& members, const std::string& fault) {
    dt_test::put(path,
                 "{" + members + ", \"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": []}}");
    const auto error = dt_test::caught([&] { read_tokenizer(path); });
    CHECK(error.kind == dt::ErrorKind::input);
    CHECK(error.says(path + ": "));
    CHECK(error.says(fault));
  };
  const std::string many(2000, 'a');
  says(R"("normalizer": {"type": "Replace", "pattern": {"String": ")" + many + R"("}, "content": ""})",
       "a Replace step has a pattern of 2000 bytes");
  says(R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": "a("}, "behavior": "Isolated"})",
       "Oniguruma does not accept the regular expression a(");
  says(R"("added_tokens": [{"id": 1, "content": ")" + many + R"("}])", "the added token ");
}
