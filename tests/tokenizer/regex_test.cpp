#include "tokenizer/encode/regex.hpp"

#include <catch2/catch.hpp>
#include <dlfcn.h>
#include <regex.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test_folder.hpp"
#include "tokenizer/encode/pattern_splitter.hpp"
#include "tokenizer/encode/regex_watch.hpp"
#include "tokenizer/pieces.hpp"

using namespace dt::tokenizer;
using dt_test::pieces_of;
using Strings = std::vector<std::string>;

namespace {

/// A text's pieces by Hugging Face's tokenizers 0.23.3, with matches isolated.
struct Isolated {
  const char *regex, *text;
  Strings pieces;
};
const Isolated isolated[] = {
    {R"((?D:\p{Nd})+)", "\u0967\u0968a1", {"\u0967\u0968", "a", "1"}},
    {R"([a-z&&[^b]])", "abcB", {"a", "b", "c", "B"}},
    {R"([x[b]])", "axb[", {"a", "x", "b", "["}},
    {R"(a{2}+)", "aaaaa", {"aaaa", "a"}},
    {R"(\p{N}{1,3}+)", "1234567", {"1234567"}},
    {R"(a{1,3}+)", "aaaaaaab", {"aaaaaaa", "b"}},
    {R"(a{,2})", "aaab{,2}", {"aa", "a", "b", "{", ",", "2", "}"}},
    {R"(\h+)", "xyzfF09g", {"xyz", "fF09", "g"}},
    {R"(^a)", "a\na", {"a", "\n", "a"}},
    {R"(a$)", "a\na\nb", {"a", "\n", "a", "\nb"}},
    {R"((?m:.)+)", "a\nb", {"a\nb"}},
    {R"(.+)", "a\nb", {"a", "\n", "b"}},
    {R"(\Aa)", "a\na", {"a", "\na"}},
    {R"(\Ga)", "aaba", {"a", "a", "ba"}},
    {R"(a\z)", "a\na", {"a\n", "a"}},
    {R"(a\Z)", "aa\n", {"a", "a", "\n"}},
    {R"(\p{Han}+)", "\u4e2d\u3001\u6587\u3005", {"\u4e2d", "\u3001", "\u6587\u3005"}},
    {R"(\w+)", "\u0939\u093f\u0928\u094d\u0926\u0940 x", {"\u0939\u093f\u0928\u094d\u0926\u0940", " ", "x"}},
    {R"([[:alpha:]]+)",
     "\u0939\u093f\u0928\u094d\u0926\u0940 x",
     {"\u0939\u093f\u0928", "\u094d", "\u0926\u0940", " ", "x"}},
    {R"((?=(\d{3})+(?!\d)))", "1234567", {"1", "234", "567"}},
    {R"((?<=[a-z])(?=[A-Z]))", "camelCaseText", {"camel", "Case", "Text"}},
    {R"(\b)", "ab cd", {"ab", " ", "cd"}},
    {" ?[^(\\s|[.,!?\u2026])]+", "Hi, (you)|\u2026 x", {"Hi", ", (", "you", ")|\u2026", " x"}},
    {R"(\u4E00+)", "\u4e00\u4e00a", {"\u4e00\u4e00", "a"}},
    {R"(\p{Alnum}+)", "a1-\u00e9", {"a1", "-", "\u00e9"}},
    {R"(\O)", "a\n", {"a", "\n"}},
    {R"(\N+)", "a\nb", {"a", "\n", "b"}},
    {R"()", "a\u00e9", {"a", "\u00e9"}},
    {R"(x*)", "a\u00e9xx", {"a", "\u00e9", "xx"}},
    {R"(\p{Lu})", "a\u1c89b", {"a", "\u1c89", "b"}},
    {R"(\w+)", "\u00b2a \u00bd", {"\u00b2a", " ", "\u00bd"}},
    {R"([\w]+)", "\u00b2a \u00bd", {"\u00b2", "a", " \u00bd"}},
    {R"((?i:ss))", "\u00dfSS", {"\u00df", "SS"}},
    {"(?i:\u1c8a)", "\u1c89", {"\u1c89"}},
    {"(?i)stra\u00dfe", "STRASSE", {"STRASSE"}},
    {R"(\R)", "a\r\nb\u2028", {"a", "\r\n", "b", "\u2028"}},
    {R"((?~ab))", "ccabcc", {"cc", "a", "bcc"}},
    {R"((?<q>a|b)\k<q>)", "aabbab", {"aa", "bb", "ab"}},
    {R"([[:^digit:]]+)", "a1b", {"a", "1", "b"}},
    {R"(\p{^L}+)", "a1b", {"a", "1", "b"}},
    {R"(a\Kb)", "abab", {"a", "b", "a", "b"}},
    {R"((?<!a)b)", "abb", {"ab", "b"}},
    {R"(a++b?)", "aab", {"aab"}},
    {R"(\x{61 62})", "ab", {"ab"}},
};

struct Behaved {
  SplitBehavior behavior;
  bool invert;
  const char *regex, *text;
  Strings pieces;
};
const Behaved behaved[] = {
    {SplitBehavior::removed, false, R"(a)", "aab", {"b"}},
    {SplitBehavior::removed, false, R"(a|(?=c))", "aabbcac", {"bb", "c", "c"}},
    {SplitBehavior::removed, false, R"(\b)", "ab  c", {"ab", "  ", "c"}},
    {SplitBehavior::removed, false, R"(x*)", "axxb", {"a", "b"}},
    {SplitBehavior::removed, true, R"(a)", "aab", {"a", "a"}},
    {SplitBehavior::removed, true, R"(a|(?=c))", "aabbcac", {"a", "a", "a"}},
    {SplitBehavior::removed, true, R"(\b)", "ab  c", {}},
    {SplitBehavior::removed, true, R"(x*)", "axxb", {"xx"}},
    {SplitBehavior::isolated, false, R"(a)", "aab", {"a", "a", "b"}},
    {SplitBehavior::isolated, false, R"(a|(?=c))", "aabbcac", {"a", "a", "bb", "c", "a", "c"}},
    {SplitBehavior::isolated, false, R"(\b)", "ab  c", {"ab", "  ", "c"}},
    {SplitBehavior::isolated, false, R"(x*)", "axxb", {"a", "xx", "b"}},
    {SplitBehavior::isolated, true, R"(a)", "aab", {"a", "a", "b"}},
    {SplitBehavior::isolated, true, R"(a|(?=c))", "aabbcac", {"a", "a", "bb", "c", "a", "c"}},
    {SplitBehavior::isolated, true, R"(\b)", "ab  c", {"ab", "  ", "c"}},
    {SplitBehavior::isolated, true, R"(x*)", "axxb", {"a", "xx", "b"}},
    {SplitBehavior::merged_with_previous, false, R"(a)", "aab", {"a", "a", "b"}},
    {SplitBehavior::merged_with_previous, false, R"(a|(?=c))", "aabbcac", {"a", "a", "bb", "ca", "c"}},
    {SplitBehavior::merged_with_previous, false, R"(\b)", "ab  c", {"ab", "  ", "c"}},
    {SplitBehavior::merged_with_previous, false, R"(x*)", "axxb", {"axx", "b"}},
    {SplitBehavior::merged_with_previous, true, R"(a)", "aab", {"a", "ab"}},
    {SplitBehavior::merged_with_previous, true, R"(a|(?=c))", "aabbcac", {"a", "abb", "c", "ac"}},
    {SplitBehavior::merged_with_previous, true, R"(\b)", "ab  c", {"ab", "  ", "c"}},
    {SplitBehavior::merged_with_previous, true, R"(x*)", "axxb", {"a", "xxb"}},
    {SplitBehavior::merged_with_next, false, R"(a)", "aab", {"a", "ab"}},
    {SplitBehavior::merged_with_next, false, R"(a|(?=c))", "aabbcac", {"a", "abb", "c", "ac"}},
    {SplitBehavior::merged_with_next, false, R"(\b)", "ab  c", {"ab", "  ", "c"}},
    {SplitBehavior::merged_with_next, false, R"(x*)", "axxb", {"a", "xxb"}},
    {SplitBehavior::merged_with_next, true, R"(a)", "aab", {"a", "a", "b"}},
    {SplitBehavior::merged_with_next, true, R"(a|(?=c))", "aabbcac", {"a", "a", "bb", "ca", "c"}},
    {SplitBehavior::merged_with_next, true, R"(\b)", "ab  c", {"ab", "  ", "c"}},
    {SplitBehavior::merged_with_next, true, R"(x*)", "axxb", {"axx", "b"}},
    {SplitBehavior::contiguous, false, R"(a)", "aab", {"aa", "b"}},
    {SplitBehavior::contiguous, false, R"(a|(?=c))", "aabbcac", {"aa", "bb", "c", "a", "c"}},
    {SplitBehavior::contiguous, false, R"(\b)", "ab  c", {"ab", "  ", "c"}},
    {SplitBehavior::contiguous, false, R"(x*)", "axxb", {"a", "xx", "b"}},
    {SplitBehavior::contiguous, true, R"(a)", "aab", {"aa", "b"}},
    {SplitBehavior::contiguous, true, R"(a|(?=c))", "aabbcac", {"aa", "bb", "c", "a", "c"}},
    {SplitBehavior::contiguous, true, R"(\b)", "ab  c", {"ab", "  ", "c"}},
    {SplitBehavior::contiguous, true, R"(x*)", "axxb", {"a", "xx", "b"}},
};

std::string refusal(const std::string& regex, const std::string& text) {
  return dt_test::caught([&] { pieces_of(*make_regex_splitter(regex, SplitBehavior::isolated), text); })
      .message;
}

}  // namespace

TEST_CASE("regex: patterns mean what Oniguruma reads, classes are Unicode 16's") {
  for (const Isolated& of : isolated) {
    CAPTURE(of.regex, of.text);
    CHECK(pieces_of(*make_regex_splitter(of.regex, SplitBehavior::isolated), of.text) == of.pieces);
  }
}

TEST_CASE("regex: every behavior, empty matches, and roles inverted") {
  for (const Behaved& of : behaved) {
    CAPTURE(static_cast<int>(of.behavior), of.invert, of.regex, of.text);
    CHECK(pieces_of(*make_regex_splitter(of.regex, of.behavior, of.invert), of.text) == of.pieces);
  }
}

TEST_CASE("regex: a splitter that was used before starts anew") {
  const std::string_view texts[] = {"ab", "", "ba"};
  dt_test::Pieces pieces;
  make_regex_splitter("a*", SplitBehavior::isolated)->split_each(texts, pieces);
  pieces.flush();
  CHECK(pieces.list == Strings{"a", "b", "b", "a"});
}

TEST_CASE("regex: what Oniguruma gives up on is an error that names the pattern") {
  CHECK(refusal("(a|a)+$", std::string(40, 'a') + "b")
            .find("the regular expression (a|a)+$ failed on the text: ") == 0);
  CHECK(refusal("\\X", "a") == "the regular expression \\X uses \\X, which dt does not support");
  CHECK(refusal("\\p{Nobody}", "a").find("invalid character property name {Nobody}") != std::string::npos);
}

TEST_CASE("regex: time in squares of the text's length is an error that names the pattern") {
  const Regex::SearchTimeLimit limit{0.05, 0};
  const std::pair<const char*, std::string> slow[] = {
      {"(a+)\\1[cd]", std::string(10'000, 'a') + "bd"},  // compares long texts without a retry
      {"a++[cd]", std::string(100'000, 'a') + "bd"},     // scans without a retry
      {"(?=(a{3})+(?!a))", std::string(100'000, 'a')},   // matches, each after a look at all of the rest
      {"a*[cd]", std::string(100'000, 'a') + "bd"}};
  for (const auto& [pattern, text] : slow) {
    CAPTURE(pattern);
    const Regex regex(pattern);
    Regex::Search search(regex, limit);
    search.start(text);
    const auto error = dt_test::caught([&] {
      while (search.next()) {
      }
    });
    CHECK(error.kind == dt::ErrorKind::input);
    CHECK(error.says("the regular expression " + std::string(pattern) + " took more than 0.1 s"));
  }
}

TEST_CASE("regex: many short matches take none of a search's time") {
  const Regex regex("\\O");
  Regex::Search search(regex, {0.02, 0});
  const std::string text(200'000, 'a');
  search.start(text);
  std::size_t num_matches = 0;
  while (search.next()) ++num_matches;
  CHECK(num_matches == 200'000);
}

TEST_CASE("regex: a search that was stopped leaves the next ones alone") {
  const std::string text = std::string(300'000, 'a') + "bd";
  for (const char* pattern : {"a++[cd]", "a*[cd]", "(?:a|\u00e9)*+[cd]"}) {
    const Regex slow(pattern);
    Regex::Search first(slow, {0.05, 0});
    first.start(text);
    CHECK(dt_test::caught([&] { first.next(); }).says("0.1 s of CPU time for 300002 bytes of text"));
    const Regex fast("\\z");
    Regex::Search second(fast);
    second.start(text);
    const auto match = second.next();
    REQUIRE(match);
    CHECK(match->begin == text.size());
  }
}

TEST_CASE("regex: a long text has the same matches as a short one") {
  const auto ends = [](const char* pattern, const std::string& text) {
    const Regex regex(pattern);
    Regex::Search search(regex);
    search.start(text);
    std::vector<std::size_t> found;
    while (const auto match = search.next()) found.insert(found.end(), {match->begin, match->end});
    return found;
  };
  std::string text;
  while (text.size() < 5000) text += "\u4e2d\u6587 ";
  const std::size_t end = text.size();
  CHECK(ends("x", text + "x") == std::vector{end, end + 1});
  CHECK(ends("\\Gx", text + "x").empty());
  CHECK(ends("\\z", text) == std::vector{end, end});
  CHECK(ends("(?<=\u6587 )x", text + "x") == std::vector{end, end + 1});
  CHECK(ends("^x", text + "\nx") == std::vector{end + 1, end + 2});
  CHECK(ends("[\u4e2d\u6587 ]+", text) == std::vector{std::size_t{0}, end});
  CHECK(ends(".*x", text + "x") == std::vector{std::size_t{0}, end + 1});
}

TEST_CASE("regex: an expression has a bounded length") {
  CHECK(refusal(std::string(100'000, 'a'), "a").find("has 100000 bytes") != std::string::npos);
}

TEST_CASE("regex: one attempt that does not end", "[.]") {
  const std::string text = std::string(300'000, 'a') + "d";
  const Regex regex("(?:(?=a*+b?)a)*+[cd]");
  Regex::Search search(regex, {0.1, 0});
  search.start(text);
  const SearchedText named([] { return std::string("some.txt:7"); });
  search.next();
}

TEST_CASE("regex: one attempt that does not end ends the process as bad input") {
  const dt_test::Captured err(STDERR_FILENO);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/proc/self/exe", "test_tokenizer", "regex: one attempt that does not end", nullptr);
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == static_cast<int>(dt::ErrorKind::input));
  CHECK(err.text().find(
            "error: some.txt:7: the regular expression (?:(?=a*+b?)a)*+[cd] took more than 0.1 s") !=
        std::string::npos);
}

TEST_CASE("regex: a program that links Oniguruma keeps the C library's regular expressions") {
  for (const auto* function : {reinterpret_cast<void*>(&::regcomp), reinterpret_cast<void*>(&::regexec),
                               reinterpret_cast<void*>(&::regfree)}) {
    Dl_info info{};
    REQUIRE(::dladdr(function, &info) != 0);
    CAPTURE(info.dli_fname);
    CHECK(std::string(info.dli_fname).find("/libc.so") != std::string::npos);
  }
}
