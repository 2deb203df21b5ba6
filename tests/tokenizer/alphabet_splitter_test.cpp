#include <catch2/catch.hpp>

#include "tokenizer/encode/byte_alphabet.hpp"
#include "tokenizer/encode/pattern_splitter.hpp"
#include "tokenizer/pieces.hpp"

using namespace dt::tokenizer;
using Pieces = std::vector<std::string>;

namespace {

std::unique_ptr<PreTokenizer> by(const char* regex, SplitBehavior behavior = SplitBehavior::isolated) {
  return make_regex_splitter(regex, behavior);
}

std::unique_ptr<PreTokenizer> both(const char* regex, const char* other) {
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  steps.push_back(by(regex));
  steps.push_back(by(other));
  return make_sequence(std::move(steps));
}

}  // namespace

TEST_CASE("alphabet: what splits sees the characters that bytes are written as") {
  CHECK(dt_test::pieces_of(*make_alphabet_splitter(nullptr, by("\u0120")), "a b") == Pieces{"a", " ", "b"});
  CHECK(dt_test::pieces_of(*make_alphabet_splitter(nullptr, by("\\s")), "a b\n") == Pieces{"a b\n"});
  // U+00B2 is \xC2\xB2. Its second byte is written as U+00B2, a number.
  CHECK(dt_test::pieces_of(*make_alphabet_splitter(nullptr, by("\\p{N}")), "a\u00b2b") ==
        Pieces{"a\xC2", "\xB2", "b"});
}

TEST_CASE("alphabet: pieces of the steps before are split each by itself") {
  const auto splitter = make_alphabet_splitter(by("-"), both("[0-9]{3}", "\u0120"));
  CHECK(dt_test::pieces_of(*splitter, "12-3456 7-") == Pieces{"12", "-", "345", "6", " ", "7", "-"});
  CHECK(dt_test::pieces_of(*splitter, "").empty());
}

TEST_CASE("alphabet: what is dropped before and after") {
  const auto splitter =
      make_alphabet_splitter(by("-+", SplitBehavior::removed), by("\u0120", SplitBehavior::removed));
  CHECK(dt_test::pieces_of(*splitter, "--\u00e9 b--- c d -") == Pieces{"\u00e9", "b", "c", "d"});
}

TEST_CASE("alphabet: more pieces than are handed on at a time, in their places") {
  std::string text;
  Pieces expected;
  for (int i = 0; i < 1000; ++i) {
    text += "-\u00e9" + std::to_string(i) + " ";
    expected.insert(expected.end(), {"-", "\u00e9", std::to_string(i), " "});
  }
  CHECK(dt_test::pieces_of(*make_alphabet_splitter(by("-"), both("[0-9]+", "\u0120")), text) == expected);
  CHECK(dt_test::pieces_of(*make_alphabet_splitter(nullptr, both("-|[0-9]+", "\u0120")), text) == expected);
}
