#include "tokenizer/encode/encoder.hpp"

#include <catch2/catch.hpp>
#include <fmt/core.h>
#include <random>

#include "tokenizer/encode/pattern_splitter.hpp"

using namespace dt::tokenizer;
using Ids = std::vector<Id>;

namespace {

/// Returns a tokenizer of bytes, and of merges of two digits.
Tokenizer digits_in_pairs(const std::string& regex) {
  Tokenizer tokenizer;
  Bpe& bpe = tokenizer.bpe;
  for (Id byte = 0; byte < 256; ++byte) {
    bpe.vocabulary.set(byte, std::string(1, static_cast<char>(byte)));
    bpe.byte_ids[byte] = byte;
  }
  for (Id i = 0; i < 100; ++i) {
    bpe.vocabulary.set(256 + i, fmt::format("{:02}", i));
    bpe.merges.add('0' + i / 10, '0' + i % 10, {i, 256 + i});
  }
  tokenizer.pre_tokenizer = make_regex_splitter(regex, SplitBehavior::isolated);
  return tokenizer;
}

/// Encodes a text of digits only, without caches.
Ids encoded_anew(const Tokenizer& tokenizer, const std::string& piece) {
  Ids symbols, ids;
  append_symbols(tokenizer.bpe, piece, symbols);
  Merger(tokenizer.bpe.merges).merge(symbols, ids);
  return ids;
}

}  // namespace

TEST_CASE("encoder: a piece has the same ids whether it was met before or not, at any length") {
  const Tokenizer tokenizer = digits_in_pairs("\\d+");
  Encoder encoder(tokenizer);
  std::mt19937 random(1);
  std::vector<std::string> pieces;
  for (int i = 0; i < 3000; ++i) {
    std::string piece(1 + random() % (i % 10 == 0 ? 400 : 20), '0');
    for (char& c : piece) c = static_cast<char>('0' + random() % 10);
    pieces.push_back(piece);
  }
  for (int round = 0; round < 3; ++round) {
    for (const std::string& piece : pieces) {
      Ids ids;
      encoder.encode(piece, ids);
      REQUIRE(ids == encoded_anew(tokenizer, piece));
    }
  }
}

TEST_CASE("encoder: pieces that differ in zero bytes or length alone are told apart") {
  const Tokenizer tokenizer = digits_in_pairs("(?m).+");
  Encoder encoder(tokenizer);
  const auto encoded = [&](const std::string& text) {
    Ids ids;
    encoder.encode(text, ids);
    return ids;
  };
  for (int round = 0; round < 2; ++round) {
    CHECK(encoded("a") == Ids{'a'});
    CHECK(encoded(std::string("a\0", 2)) == Ids{'a', 0});
    CHECK(encoded(std::string("a\0\0", 3)) == Ids{'a', 0, 0});
    CHECK(encoded("") == Ids{});
  }
}

TEST_CASE("encoder: more pieces than caches hold") {
  const Tokenizer tokenizer = digits_in_pairs("\\d+");
  Encoder encoder(tokenizer);
  Ids ids, expected;
  std::string text;
  for (int i = 0; i < 200'000; ++i) {
    const std::string piece = std::to_string(i) + std::string(i % 30, '7');
    text += piece + " ";
    const Ids of_piece = encoded_anew(tokenizer, piece);
    expected.insert(expected.end(), of_piece.begin(), of_piece.end());
    expected.push_back(' ');
  }
  encoder.encode(text, ids);
  CHECK(ids == expected);
}
