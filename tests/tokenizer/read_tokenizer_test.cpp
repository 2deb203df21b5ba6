#include "tokenizer/read_tokenizer.hpp"

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
  CHECK(refusal("{}", "gpt2").says("a pattern beside it has no use"));
  CHECK(refusal("AA== 0\n", "").says("does not say how text is split; a pattern is expected: gpt2"));
  CHECK(refusal("AA== 0\n", "gpt2").says("no token is the byte 0x01"));
  CHECK(refusal("\n\x0e\n\x05<unk>", "").says("is cut short"));
  CHECK(refusal("\n\x07\n\x05<unk>", "gpt2").says("a pattern beside it has no use"));
  CHECK(refusal("{\"config\": {}, \"vocab\": [{\"token_bytes\": 0}]}", "")
            .says("default_vocab_size' is missing"));
  CHECK(refusal("some text", "").says("is no tokenizer that is known"));
  CHECK(refusal("", "").kind == dt::ErrorKind::input);
  CHECK(dt_test::caught([&] { read_tokenizer(folder / "missing"); }).kind == dt::ErrorKind::input);
}
