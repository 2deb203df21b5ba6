#include "tokenizer/encode/added_tokens.hpp"

#include <catch2/catch.hpp>

#include "base/test_folder.hpp"

using namespace dt::tokenizer;

namespace {

std::vector<std::pair<std::string, Id>> found(const AddedTokenFinder& finder, std::string_view text) {
  std::vector<std::pair<std::string, Id>> all;
  AddedTokenFinder::Found last;
  while (const auto next = finder.find(text, last)) {
    all.emplace_back(text.substr(next->begin, next->end - next->begin), next->id);
    last = *next;
  }
  return all;
}

}  // namespace

TEST_CASE("added tokens: the leftmost, then the longest") {
  const AddedTokenFinder finder({{1, "<a"}, {2, "<a b>"}, {3, "b>"}, {4, "<a b>c"}});
  CHECK(found(finder, "x<a b>y<a bb>") == decltype(found(finder, "")){{"<a b>", 2}, {"<a", 1}, {"b>", 3}});
  CHECK(found(finder, "<a b>c<") == decltype(found(finder, "")){{"<a b>c", 4}});
  CHECK(found(finder, "").empty());
  CHECK(found(AddedTokenFinder(), "abc").empty());
}

TEST_CASE("added tokens: each place of a text is compared with a bounded part of it") {
  CHECK(found(AddedTokenFinder({{1, std::string(256, 'a')}}), std::string(256, 'a')).size() == 1);
  const auto error = dt_test::caught([] { AddedTokenFinder({{7, std::string(257, 'a')}}); });
  CHECK(error.kind == dt::ErrorKind::input);
  CHECK(error.says("the added token 7 has 257 bytes; the limit is 256"));
}

TEST_CASE("added tokens: white space that they take is no one else's") {
  const AddedTokenFinder finder({{1, "A", true, true, true}});
  CHECK(found(finder, "x \u3000A\t A y") == decltype(found(finder, "")){{" \u3000A\t ", 1}, {"A ", 1}});
}

TEST_CASE("added tokens: one may begin with white space that the one before it takes, and be what is left") {
  const AddedTokenFinder finder(
      {{1, "A", true, false, true}, {2, "  ", true, true, true}, {3, " b", true, true}});
  using All = decltype(found(finder, ""));
  CHECK(found(finder, "A  ") == All{{"A  ", 1}});
  CHECK(found(finder, "A     x  ") == All{{"A     ", 1}, {"  ", 2}});
  CHECK(found(finder, "     x") == All{{"     ", 2}});
  CHECK(found(finder, "A b b") == All{{"A ", 1}, {"b", 3}, {" b", 3}});
}

TEST_CASE("added tokens: single words have no word's character beside them") {
  AddedToken token{1, "ab"};
  token.is_single_word = true;
  const AddedTokenFinder finder({token, {2, "bc"}});
  using All = decltype(found(finder, ""));
  CHECK(found(finder, "ab (ab)\u3000ab") == All{{"ab", 1}, {"ab", 1}, {"ab", 1}});
  CHECK(found(finder, "abab xab abx ab1 _ab").empty());
  CHECK(found(finder, "\u00e9ab ab\u00e9 ab\u0301 ab\u200d \u24b6ab \u203fab").empty());
  CHECK(found(finder, "\u00d7ab\u2460").size() == 1);
  // The first "ab" is no single word, but hides the "bc" that begins in it.
  CHECK(found(finder, "abc bc").size() == 1);
  CHECK(found(finder, "abbc") == All{{"bc", 2}});
}
