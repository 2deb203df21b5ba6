#include <catch2/catch.hpp>

#include "tokenizer/encode/bpe.hpp"
#include "tokenizer/encode/pattern_splitter.hpp"
#include "tokenizer/pieces.hpp"

using namespace dt::tokenizer;

namespace {

Bpe with_tokens(const std::vector<std::string>& tokens) {
  Bpe bpe;
  bpe.is_byte_level = false;
  for (const std::string& token : tokens) bpe.vocabulary.set(bpe.vocabulary.size(), token);
  return bpe;
}

}  // namespace

TEST_CASE("word splitter: before each run of spaces") {
  const auto splitter = make_word_splitter(with_tokens({"\u2581", "\u2581\u2581", "\u2581\u2581a", "ab"}));
  REQUIRE(splitter);
  CHECK(dt_test::pieces_of(*splitter,
                           "ab\u2581"
                           "c\u2581\u2581"
                           "d\u2581") == std::vector<std::string>{"ab",
                                                                  "\u2581"
                                                                  "c",
                                                                  "\u2581\u2581"
                                                                  "d",
                                                                  "\u2581"});
}

TEST_CASE("word splitter: none where a token reaches over such a border") {
  CHECK_FALSE(make_word_splitter(with_tokens({"\u2581", "a\u2581"})));
  CHECK_FALSE(make_word_splitter(with_tokens({"\u2581",
                                              "\u2581"
                                              "a\u2581"
                                              "b"})));
  CHECK_FALSE(make_word_splitter(with_tokens({"a"})));
}
