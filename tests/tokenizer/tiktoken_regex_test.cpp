#include "tokenizer/files/tiktoken_regex.hpp"

#include <catch2/catch.hpp>

#include "base/test_folder.hpp"
#include "tokenizer/encode/pattern_splitter.hpp"
#include "tokenizer/pieces.hpp"
#include "tokenizer/unicode/code_point_set.hpp"
#include "tokenizer/unicode/rust_class.hpp"

using namespace dt::tokenizer;
using dt_test::pieces_of;
using Strings = std::vector<std::string>;

namespace {

/// A text's pieces by tiktoken 0.14.0.
struct Split {
  const char *pattern, *text;
  Strings pieces;
};
const Split splits[] = {
    {R"-(\p{N}{1,3}+|\D)-", "1234567", {"123", "456", "7"}},
    {R"-(a{1,3}+|b)-", "aaaab", {"aaa", "a", "b"}},
    {R"-(^a|\O)-", "aa\na", {"a", "a", "\n", "a"}},
    {R"-(a$|\O)-", "a\na", {"a", "\n", "a"}},
    {R"-((?m)^a|\O)-", "a\na", {"a", "\n", "a"}},
    {R"-((?m:a$)|\O)-", "a\na\n", {"a", "\n", "a", "\n"}},
    {R"-((?s:.)a|\O)-", "\na", {"\na"}},
    {R"-(.a|\O)-", "\na", {"\n", "a"}},
    {R"-(\w+|\W)-", "a\u200db \u200c", {"a\u200db", " ", "\u200c"}},
    {R"-(\b.|\O)-", "ab\u200d c", {"a", "b", "\u200d", " ", "c"}},
    {"(?i:stra\u00dfe|ss)|\\O",
     "STRASSESTRA\u00dfESTRA\u1e9eE",
     {"S", "T", "R", "A", "SS", "E", "STRA\u00dfE", "STRA\u1e9eE"}},
    {R"-((?i:k|s)+|\O)-", "k\u212as\u017fS", {"k\u212as\u017fS"}},
    {R"-((?i:[^a-z])+|\O)-", "1\u017fK\u212a", {"1", "\u017f", "K", "\u212a"}},
    {R"-([a-z&&[^b]]+|\O)-", "abc", {"a", "b", "c"}},
    {R"-([a-z--b]+|\O)-", "abc", {"a", "b", "c"}},
    {R"-([ab~~bc]+|\O)-", "abc", {"a", "b", "c"}},
    {R"-([x[b]]+|\O)-", "xbab", {"xb", "a", "b"}},
    {R"-([[:alpha:]]+|\O)-", "a\u00e9", {"a", "\u00e9"}},
    {R"-((?i:[[:^alnum:]])+|\O)-", "'S\u017f", {"'", "S", "\u017f"}},
    {R"-(\h+|\O)-", "fFg", {"fF", "g"}},
    {R"-(\R|.)-", "\r\n\n\u2028", {"\r\n", "\n", "\u2028"}},
    {R"-(a{,2}b|\O)-", "aab", {"aab"}},
    {R"-(a{2}?b|\O)-", "aab", {"aab"}},
    {R"-(a{,b|\O)-", "a{,b", {"a{,b"}},
    {R"-((a(?i)b)c|\O)-", "aBCabc", {"aBC", "abc"}},
    {"(?x) a b # no\n | \\O", "ab a", {"ab", " ", "a"}},
    {R"-((?U)a+|\O)-", "aa", {"a", "a"}},
    {R"-((?U)a+?|\O)-", "aab", {"aa", "b"}},
    {R"-((?P<q>[ab])(?P=q)|\O)-", "aabab", {"aa", "b", "a", "b"}},
    {R"-(([ab])\1|\O)-", "aabab", {"aa", "b", "a", "b"}},
    {R"-(\b{start}\w|\O)-", "ab cd", {"a", "b", " ", "c", "d"}},
    {R"-((?:\b)+a|\O)-", "a a", {"a", " ", "a"}},
    {R"-(\p{Greek}+|\P{^L}|\O)-", "\u03b1\u03b21", {"\u03b1\u03b2", "1"}},
    {R"-(\p{sc=Han}+|\p{gc=Nd}|\O)-", "\u4e2d\u65871", {"\u4e2d\u6587", "1"}},
    {R"-(\p{punct}+|\O)-", ".$!", {".", "$", "!"}},
    {R"-(\x41|\u{4e00}|\u4e01|\O)-", "A\u4e00\u4e01", {"A", "\u4e00", "\u4e01"}},
    {R"-(\p{Lu}+|\O)-", "A\u1c89\ua7ce", {"A\u1c89", "\ua7ce"}},
    {R"-([\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)-",
     "Hello's \u4e2d\u6587text, 12345  \n x",
     {"Hello's", " ", "\u4e2d\u6587", "text", ",", " ", "123", "45", "  \n", " x"}},
};

std::string refusal(const std::string& pattern) {
  return dt_test::caught([&] { regex_of_tiktoken(pattern); }).message;
}

}  // namespace

TEST_CASE("tiktoken regex: the translation splits as tiktoken does") {
  for (const Split& of : splits) {
    const std::string regex = regex_of_tiktoken(of.pattern);
    CAPTURE(of.pattern, of.text, regex);
    CHECK(pieces_of(*make_regex_splitter(regex, SplitBehavior::removed, true, true), of.text) == of.pieces);
  }
}

TEST_CASE("tiktoken regex: the translation is short where Oniguruma has the words") {
  CHECK(regex_of_tiktoken(R"(\p{N}{1,3}+|[^\s\p{L}\p{N}]+|\s+(?!\S)|a$)") ==
        R"((?>\p{N}{1,3})|[^\p{L}\p{N}\s]+|\s+(?!\S)|a\z)");
  CHECK(regex_of_tiktoken("(?i:k'1)") == R"((?:[Kk\x{212A}]'1))");
  CHECK(regex_of_tiktoken("[&-~]") == R"([\x{26}-\x{7E}])");
  CHECK(regex_of_tiktoken("[a&&b]|c") == "[a&&b]|c");
  CHECK(regex_of_tiktoken(R"((?:\b)+a|(?:^|a)+b)").find("(?m:(?:\\A|a))+b") != std::string::npos);
}

TEST_CASE("tiktoken regex: what is not followed is refused by name") {
  CHECK(refusal("a(").starts_with("dt does not support the pattern a(: a parenthesis is not closed"));
  for (const char* pattern :
       {"a)",     "[a",          "*a",      "a**",         "(?=a)*",           "\\q",
        "\\",     "\\x{110000}", "\\x{}",   "\\p{Nobody}", "\\p{InGreek}",     "(?(1)a|b)",
        "(?~a)",  "(?R:a)",      "(?-u:a)", "\\Ka",        "\\g<1>",           "(?i)(a)\\1",
        "\\1(a)", "[b-a]",       "a{3,2}",  "(?#a",        "(?P<a>a)(?P<a>b)", "(*FAIL)"})
    CHECK(refusal(pattern).find("dt does not support the pattern") != std::string::npos);
  for (const char* pattern : {"", "a*", "a|", "(a?)", "(?:a{0,3}b*)+", "(?i)"})
    CHECK(refusal(pattern).find("can match the empty text; use a pattern whose matches are never empty") !=
          std::string::npos);
  for (const char* pattern : {"\\b", "a*b", "a*(?=b)b", "$|a"}) CHECK(refusal(pattern).empty());
}

TEST_CASE("code points: sets, and the words of Rust's and Oniguruma's regular expressions") {
  const CodePointSet letters = {{'a', 'f'}, {'c', 'h'}, {'i', 'i'}};
  CHECK(letters == CodePointSet{{'a', 'i'}});
  CHECK((letters - CodePointSet{{'c', 'd'}}) == CodePointSet{{'a', 'b'}, {'e', 'i'}});
  CHECK(~~letters == letters);
  CHECK((letters & CodePointSet{{'g', 'z'}}) == CodePointSet{{'g', 'i'}});
  CHECK((~CodePointSet()).contains(0x10FFFF));
  CHECK((property("word") | CodePointSet{{0x200c, 0x200d}}) == rust_word_characters());
  CHECK(property("lu").contains(0x1c89));
  CHECK_FALSE(property("lu").contains(0xa7ce));
  CHECK_FALSE(property_index("Nobody"));
  CHECK(property_index("Uppercase_Letter") == property_index("lu"));
  CHECK(with_other_cases({{'k', 'k'}}) == CodePointSet{{'K', 'K'}, {'k', 'k'}, {0x212a, 0x212a}});
}
