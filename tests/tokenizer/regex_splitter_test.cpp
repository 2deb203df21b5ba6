#include <catch2/catch.hpp>

#include "base/test_folder.hpp"
#include "tokenizer/encode/pattern_splitter.hpp"
#include "tokenizer/pieces.hpp"

using namespace dt::tokenizer;
using dt_test::pieces_of;
using Strings = std::vector<std::string>;

namespace {

Strings split(SplitBehavior behavior, bool invert = false) {
  return pieces_of(*make_regex_splitter("-", behavior, invert), "the-final--countdown-");
}

}  // namespace

TEST_CASE("regex splitter: what becomes of matches") {
  CHECK(split(SplitBehavior::removed) == Strings{"the", "final", "countdown"});
  CHECK(split(SplitBehavior::isolated) == Strings{"the", "-", "final", "-", "-", "countdown", "-"});
  CHECK(split(SplitBehavior::merged_with_previous) == Strings{"the-", "final-", "-", "countdown-"});
  CHECK(split(SplitBehavior::merged_with_next) == Strings{"the", "-final", "-", "-countdown", "-"});
  CHECK(split(SplitBehavior::contiguous) == Strings{"the", "-", "final", "--", "countdown", "-"});
  CHECK(split(SplitBehavior::removed, true) == Strings{"-", "-", "-", "-"});
}

TEST_CASE("regex splitter: white space is Unicode's") {
  const auto spaces = make_regex_splitter("\\s", SplitBehavior::removed);
  CHECK(pieces_of(*spaces, "a\u180eb\u2003c\u0085d") == Strings{"a\u180eb", "c", "d"});
  CHECK(pieces_of(*make_regex_splitter("[^\\s]+", SplitBehavior::removed, true), "a\u3000b") ==
        Strings{"a", "b"});
  CHECK(pieces_of(*make_regex_splitter("\\S+", SplitBehavior::removed, true), "a\u3000b") ==
        Strings{"a", "b"});
}

TEST_CASE(
    "regex splitter: a match of nothing separates its neighbours, text that is not UTF-8 is left as it is") {
  CHECK(pieces_of(*make_regex_splitter("x*", SplitBehavior::isolated), "a\u00e9xx") ==
        Strings{"a", "\u00e9", "xx"});
  CHECK(pieces_of(*make_regex_splitter("b", SplitBehavior::isolated),
                  "a\xFF\xE4"
                  "bc") == Strings{"a\xFF\xE4", "b", "c"});
}

TEST_CASE("regex splitter: long runs need no stack") {
  const std::string letters(1 << 20, 'a');
  CHECK(pieces_of(*make_regex_splitter("(?:a|b)+c|a+", SplitBehavior::isolated), letters).size() == 1);
}

TEST_CASE("regex splitter: a sequence splits what the one before found") {
  std::vector<std::unique_ptr<PreTokenizer>> splitters;
  splitters.push_back(make_regex_splitter("\\d", SplitBehavior::isolated));
  splitters.push_back(make_regex_splitter(escaped_for_regex("."), SplitBehavior::merged_with_previous));
  splitters.push_back(make_regex_splitter("b", SplitBehavior::removed));
  CHECK(pieces_of(*make_sequence(std::move(splitters)), "a.b1c.d2") == Strings{"a.", "1", "c.", "d", "2"});
}

TEST_CASE("regex splitter: what Oniguruma cannot compile is refused") {
  CHECK(dt_test::caught([] {
          make_regex_splitter("a(", SplitBehavior::isolated);
        }).says("does not accept the regular expression a("));
}
