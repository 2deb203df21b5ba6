#include "tokenizer/encode/scanners.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "base/text/utf8.hpp"
#include "tokenizer/encode/pattern_splitter.hpp"
#include "tokenizer/pieces.hpp"

using namespace dt::tokenizer;
using dt_test::pieces_of;
using Strings = std::vector<std::string>;

namespace {

constexpr const char* gpt2_regex =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr const char* llama3_regex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* qwen2_regex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* cl100k_regex =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s)";

constexpr const char* o200k_regex =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* tekken_regex =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// Characters at the patterns' borders: each class, in one to four bytes, and the parts of
/// contractions.
const Strings alphabet = {
    "a",      "Z",      "s",      "S",      "t",      "l",          "L",          "v",
    "e",      "r",      "d",      "m",      "'",      "'",          "'",          " ",
    " ",      "  ",     "\n",     "\r",     "\t",     "\v",         "\u0085",     "\u00a0",
    "\u3000", "\u2028", "1",      "22",     "\u0663", "\u00bd",     "\U0001d7d8", ".",
    "-",      "\u2019", "\u017f", "\u00e9", "\u0301", "\u0903",     "\u01c5",     "\u02b0",
    "\u00c9", "/",      "\u1c89", "\ua7cd", "\u4e2d", "\U0001f600", "\U00020000", std::string(1, '\0'),
    "\x7f"};

std::string random_text(std::mt19937& random) {
  std::string text;
  for (std::size_t count = random() % 30; count > 0; --count) text += alphabet[random() % alphabet.size()];
  return text;
}

}  // namespace

TEST_CASE("scanners: gpt2 takes words with the space before them") {
  const auto scanner = make_scanner(Pattern::gpt2);
  CHECK(pieces_of(*scanner, "Hello world's  12 x+y\n\n end ") ==
        Strings{"Hello", " world", "'s", " ", " 12", " x", "+", "y", "\n\n", " end", " "});
  CHECK(pieces_of(*scanner, "").empty());
}

TEST_CASE("scanners: llama3 takes three digits, lines' ends with punctuation") {
  const auto scanner = make_scanner(Pattern::llama3);
  CHECK(pieces_of(*scanner, "It'S 12345;\n\n  (x) \n y\t") ==
        Strings{"It", "'S", " ", "123", "45", ";\n\n", " ", " (", "x", ")", " \n", " y", "\t"});
}

TEST_CASE("scanners: qwen2 takes one digit, cl100k the last white space at once") {
  CHECK(pieces_of(*make_scanner(Pattern::qwen2), "123") == Strings{"1", "2", "3"});
  CHECK(pieces_of(*make_scanner(Pattern::cl100k), "a \n ") == Strings{"a", " \n "});
  CHECK(pieces_of(*make_scanner(Pattern::llama3), "a \n ") == Strings{"a", " \n", " "});
}

TEST_CASE("scanners: pieces are what the regular expressions match") {
  const std::pair<Pattern, const char*> all[] = {
      {Pattern::gpt2, gpt2_regex},     {Pattern::llama3, llama3_regex}, {Pattern::qwen2, qwen2_regex},
      {Pattern::cl100k, cl100k_regex}, {Pattern::o200k, o200k_regex},   {Pattern::tekken, tekken_regex}};
  std::mt19937 random(1);
  for (const auto& [pattern, regex] : all) {
    CHECK(pattern_of_tiktoken_regex(regex) == pattern);
    const auto scanner = make_scanner(pattern);
    const auto splitter = make_regex_splitter(regex_of_pattern(pattern), SplitBehavior::isolated);
    for (int round = 0; round < 5000; ++round) {
      const std::string text = random_text(random);
      CAPTURE(text, regex);
      REQUIRE(pieces_of(*scanner, text) == pieces_of(*splitter, text));
    }
  }
}

TEST_CASE("scanners: o200k and tekken take words in which capitals stand first") {
  const auto o200k = make_scanner(Pattern::o200k);
  CHECK(pieces_of(*o200k, "camelCase HTTPServer's 1234//\n x") ==
        Strings{"camel", "Case", " HTTPServer's", " ", "123", "4", "//\n", " x"});
  const auto tekken = make_scanner(Pattern::tekken);
  CHECK(pieces_of(*tekken, "It's 12 ABC\u4e2dD\u0301E") ==
        Strings{"It", "'s", " ", "1", "2", " ABC\u4e2dD\u0301", "E"});
}

TEST_CASE("scanners: each character of Unicode has its class in words and beside them") {
  const auto scanner = make_scanner(Pattern::o200k);
  const auto splitter = make_regex_splitter(o200k_regex, SplitBehavior::isolated);
  std::string text;
  for (char32_t c = 0x80; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    text.clear();
    for (const char* around : {"A", "a", ".", " "}) text += dt::to_utf8(c) + around;
    if (pieces_of(*scanner, text) != pieces_of(*splitter, text)) {
      CAPTURE(static_cast<std::uint32_t>(c), text);
      REQUIRE(pieces_of(*scanner, text) == pieces_of(*splitter, text));
    }
  }
}

TEST_CASE("scanners: bytes that are not UTF-8 are in some piece") {
  std::mt19937 random(2);
  for (const Pattern pattern : {Pattern::gpt2, Pattern::cl100k, Pattern::o200k}) {
    for (int round = 0; round < 2000; ++round) {
      std::string text(random() % 20, '\0'), joined;
      for (char& c : text) c = static_cast<char>(random() % 4 == 0 ? random() : 0xF0 | random());
      for (const std::string& piece : pieces_of(*make_scanner(pattern), text)) joined += piece;
      REQUIRE(joined == text);
    }
  }
}

TEST_CASE("scanners: unknown names and regular expressions have none") {
  CHECK(dt::parse_name<Pattern>("qwen2") == Pattern::qwen2);
  CHECK_FALSE(dt::parse_name<Pattern>("gpt5"));
  CHECK_FALSE(pattern_of_regex("\\w+"));
  CHECK(pattern_of_regex(llama3_regex) == Pattern::llama3);
  CHECK_FALSE(pattern_of_regex(cl100k_regex));  // {1,3}+ repeats in this syntax
}
