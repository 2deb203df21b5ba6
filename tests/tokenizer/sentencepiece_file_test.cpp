#include "tokenizer/files/sentencepiece_file.hpp"

#include <catch2/catch.hpp>
#include <fmt/core.h>

#include "base/test_folder.hpp"
#include "tokenizer/encode/encoder.hpp"
#include "tokenizer/files/hf_tokenizer.hpp"
#include "tokenizer/sentencepiece_bytes.hpp"

using namespace dt::tokenizer;
using namespace dt_test;
using Ids = std::vector<Id>;

namespace {

constexpr const char* space = "\u2581";

/// Returns pieces 0 <unk>, 1 <s>, 2 </s>, 3 ▁, 4 to 6 a b c, 7 bc, 8 ab, 9 ▁a.
std::string pieces() {
  return piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3) + piece(space, -10) +
         piece("a", -11) + piece("b", -12) + piece("c", -13) + piece("bc", -1) + piece("ab", -2) +
         piece(std::string(space) + "a", -3);
}

std::string bytes() {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += piece(fmt::format("<0x{:02X}>", byte), 0, 6);
  return all;
}

const std::string plain = normalizer(true, false);

Tokenizer read(const std::string& model) {
  return read_hugging_face(sentencepiece_as_hugging_face(model, "m"), "j");
}

Ids encoded(const std::string& model, std::string_view text) {
  const Tokenizer tokenizer = read(model);
  Ids ids;
  Encoder(tokenizer).encode(text, ids);
  return ids;
}

std::string decoded(const std::string& model, const Ids& ids) {
  const Tokenizer tokenizer = read(model);
  return decode(tokenizer.bpe.vocabulary, tokenizer.decoder, ids);
}

std::string refusal(const std::string& model) {
  return caught([&] { sentencepiece_as_hugging_face(model, "m"); }).message;
}

}  // namespace

TEST_CASE("sentencepiece: the highest score merges first") {
  const std::string model = pieces() + trainer() + plain;
  CHECK(encoded(model, "abc") == Ids{9, 7});
  CHECK(encoded(model, "abab") == Ids{3, 8, 8});
  CHECK(encoded(model, " abb") == Ids{3, 3, 8, 5});
  CHECK(encoded(model, "").empty());
  CHECK(read(model).end_of_text == 2);
}

TEST_CASE("sentencepiece: of equal scores the leftmost merges first") {
  const std::string model = piece("<unk>", 0, 2) + piece("a") + piece("b") + piece("c") + piece("ab") +
                            piece("bc") + piece("ca") + trainer() + normalizer(false, false);
  CHECK(encoded(model, "abc") == Ids{4, 3});
  CHECK(encoded(model, "bca") == Ids{5, 1});
  CHECK(encoded(model, "cab") == Ids{6, 2});
}

TEST_CASE("sentencepiece: what no piece is becomes bytes, or one unknown piece with what follows") {
  CHECK(encoded(pieces() + trainer() + plain, "a\u00e9\u00e8b") == Ids{9, 0, 5});
  const std::string model = pieces() + bytes() + trainer(2, proto_integer(35, 1)) + plain;
  CHECK(encoded(model, "a\u00e9") == Ids{9, 10 + 0xC3, 10 + 0xA9});
  CHECK(decoded(model, {9, 10 + 0xC3, 10 + 0xA9}) == "a\u00e9");
}

TEST_CASE("sentencepiece: control pieces are found in no text, and decode to none") {
  const std::string model =
      pieces() + piece("<", -20) + piece("s", -21) + piece(">", -22) + trainer() + plain;
  CHECK(encoded(model, "<s>") == Ids{3, 10, 11, 12});
  CHECK(decoded(model, {1, 9, 0, 5, 2}) == "a \u2047 b");
  CHECK(decoded(pieces() + trainer(2, proto_bytes(44, "?")) + plain, {9, 0}) == "a?");
}

TEST_CASE("sentencepiece: user-defined pieces are whole, and nothing merges over them") {
  const std::string model = pieces() + piece("cb", 0, 4) + piece("\u2460", 0, 4) + trainer();
  CHECK(encoded(model + plain, "abcbc") == Ids{3, 8, 10, 6});
  CHECK(encoded(model + plain, "cb") == Ids{3, 10});
  CHECK(encoded(model + normalizer(false, false, charsmap('b', "c")), "cb\u2460ab") == Ids{10, 11, 4, 6});
}

TEST_CASE("sentencepiece: spaces as the normaliser says") {
  const std::string model = pieces() + trainer();
  CHECK(encoded(model + normalizer(true, true), "  a  b ") == Ids{9, 3, 5});
  CHECK(encoded(model + normalizer(false, true), "  a  b ") == Ids{4, 3, 5});
  CHECK(encoded(model + normalizer(false, false), "  a  b ") == Ids{3, 9, 3, 3, 5, 3});
  CHECK(encoded(model + normalizer(true, true), "   ").empty());
  CHECK(encoded(model + normalizer(true, false, charsmap('x', "")), "x") == Ids{3});
  CHECK(encoded(model, " a") == Ids{9});  // by the format's defaults
  CHECK(decoded(model + normalizer(true, true), {9, 3, 5}) == "a b");
  CHECK(decoded(model + normalizer(false, false), {9, 3}) == " a ");
}

TEST_CASE(
    "sentencepiece: of the spaces that a text's pieces begin with, as many are dropped as the options say") {
  const std::string two = std::string(space) + space;
  const std::string model = pieces() + piece(two, 0, 4) + trainer();  // piece 10 is two spaces
  const std::vector<Ids> texts = {{3, 3, 4}, {10, 10, 4}, {1, 3, 4}, {0, 3, 4}, {4, 3, 5}};
  const auto all_decoded = [&](const std::string& options) {
    std::vector<std::string> all;
    for (const Ids& ids : texts) all.push_back(decoded(model + options, ids));
    return all;
  };
  using All = std::vector<std::string>;
  CHECK(all_decoded(normalizer(false, false)) == All{"  a", "    a", " a", " \u2047  a", "a b"});
  CHECK(all_decoded(normalizer(true, true)) == All{"a", "   a", "a", " \u2047  a", "a b"});
  CHECK(all_decoded(normalizer(false, true)) == All{"a", "   a", "a", " \u2047  a", "a b"});
  CHECK(decoded(model + normalizer(true, false), {3, 3, 4}) == " a");
  CHECK(decoded(model + normalizer(true, false), {10, 10, 4}) == "   a");
}

TEST_CASE(
    "sentencepiece: an unknown piece that stands first keeps its own space where none was put before all") {
  const std::string model = piece("<unk>", 0, 2) + piece("a", -11) + piece("b", -12) + trainer() + plain;
  CHECK(encoded(model, "ab") == Ids{0, 1, 2});
  CHECK(decoded(model, {0, 1, 2}) == " \u2047 ab");
}

TEST_CASE("sentencepiece: what is not followed is refused by name") {
  CHECK(refusal(pieces() + trainer(1)).starts_with("m is a SentencePiece model of type unigram"));
  CHECK(refusal(pieces()).starts_with("m is a SentencePiece model of type unigram"));
  CHECK(refusal(pieces() + trainer(4)).starts_with("m is a SentencePiece model of type char"));
  CHECK(refusal(pieces() + trainer(2, proto_integer(24, 1))) ==
        "m: dt does not support treat_whitespace_as_suffix");
  CHECK(refusal(pieces() + trainer() + proto_bytes(5, proto_bytes(2, "x"))) ==
        "m: dt does not support a denormalizer");
  CHECK(refusal(pieces() + piece("a b", 0, 4) + trainer())
            .starts_with("m: the user-defined piece 'a b' contains a space"));
  CHECK(refusal(pieces() + piece("ac", -4, 5) + trainer()).starts_with("m: 'ac' is marked unused"));
  CHECK(refusal(pieces() + piece("ax", -4) + trainer()) ==
        "m: 'ax' contains a character that is not a piece");
  CHECK(refusal(pieces() + piece("x", 0, 3) + trainer())
            .starts_with("m: the control or unknown piece 'x' is a single character"));
  CHECK(refusal(pieces() + trainer() + normalizer(true, true, charsmap(' ', "x"))).find("rules for spaces") !=
        std::string::npos);
  CHECK(
      refusal(pieces() + trainer() + normalizer(true, true, charsmap('a', "x  "))).find("rules for spaces") !=
      std::string::npos);
}

TEST_CASE("sentencepiece: pieces that text cannot come to are no trouble") {
  const std::string unused = pieces() + piece("acb", -4, 5) + piece("x", -5, 5) + piece("abc", -0.5F);
  CHECK(encoded(unused + trainer() + plain, "abcx") == Ids{3, 12, 11});
  CHECK(encoded(pieces() + piece("cb", 0, 4) + piece("acbx", -1) + trainer() + plain, "acb") == Ids{9, 10});
  CHECK(encoded(pieces() + piece("x", 0, 4) + piece("xa", -4, 5) + trainer() + plain, "xa") == Ids{3, 10, 4});
}

TEST_CASE("sentencepiece: broken models are refused") {
  const std::string model = pieces() + trainer();
  CHECK(is_sentencepiece_model(model));
  CHECK_FALSE(is_sentencepiece_model("\n\n\n\n"));
  CHECK_FALSE(is_sentencepiece_model("\n"));
  CHECK(refusal(model.substr(0, model.size() - 1)) == "m is truncated: a field extends beyond its end");
  CHECK(refusal(model + piece("a")) == "m: the piece 'a' is listed twice");
  CHECK(refusal(model + piece("")) == "m: a piece is empty or not valid UTF-8");
  CHECK(refusal(model + piece("\xFF")) == "m: a piece is empty or not valid UTF-8");
  CHECK(refusal(model + piece("q", std::numeric_limits<float>::quiet_NaN())) == "m: 'q' has no score");
  CHECK(refusal(model + piece("q", 0, 7)) == "m: 'q' has the unknown type 7");
  CHECK(refusal(model + piece("?", 0, 2)) == "m: 2 pieces have the type unknown, expected one");
  CHECK(refusal(model + piece("<0x00>", 0, 6)) == "m: 1 pieces are bytes, but byte_fallback is false");
  CHECK(refusal(pieces() + trainer(2, proto_integer(35, 1))) ==
        "m: 0 pieces are bytes, but byte_fallback is true");
  CHECK(refusal(model + normalizer(true, true, "abc")) == "a precompiled_charsmap is damaged");
}
