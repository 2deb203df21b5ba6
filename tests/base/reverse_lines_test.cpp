#include "base/io/reverse_lines.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <vector>

#include "base/test_folder.hpp"
#include "base/text/printable.hpp"
#include "base/text/text.hpp"

using namespace dt;

namespace {

std::vector<std::string> read_all(ReverseLines& lines) {
  std::vector<std::string> result;
  for (std::string line; lines.next(line);) result.push_back(line);
  std::string after;
  CHECK_FALSE(lines.next(after));
  return result;
}

/// Writes the text to a file and returns its lines from the last to the first.
std::vector<std::string> reversed(const std::string& text, std::size_t block_bytes,
                                  std::size_t max_line_bytes = 1000) {
  const dt_test::Folder folder;
  dt_test::put(folder / "f", text);
  ReverseLines lines(folder / "f", block_bytes, max_line_bytes);
  CHECK(lines.file_bytes() == text.size());
  CHECK(lines.complete_bytes() == text.rfind('\n') + 1);  // npos + 1 is 0
  return read_all(lines);
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("reverse lines: lines come from the last to the first, whatever the size of blocks") {
  const std::vector<std::string> texts{"",
                                       "\n",
                                       "\n\n",
                                       "a\n",
                                       "torn",
                                       "a\ntorn",
                                       "\ntorn",
                                       "a\n\nb\n",
                                       "abc\ndefg\nh\n",
                                       "abcd\nefgh\n",
                                       "\nabcdefgh\n",
                                       "abcdefghijklmnop\nq\n",
                                       "a\r\nb\r\n",
                                       "\n\n\nabc\n",
                                       "a\n\n\n\ntorn and longer than any block"};
  for (const std::string& text : texts) {
    Lines expected = split(text, '\n');
    if (!expected.empty()) expected.pop_back();  // the bytes after the last '\n'
    std::reverse(expected.begin(), expected.end());
    for (std::size_t block = 1; block <= text.size() + 1; ++block) {
      CAPTURE(text, block);
      CHECK(reversed(text, block) == expected);
    }
  }
}

TEST_CASE("reverse lines: a file of many default blocks is read whole") {
  Lines expected;
  std::string text;
  for (std::size_t i = 0; text.size() < 5 * ReverseLines::default_block_bytes; ++i) {
    expected.push_back(fmt::format("{} {}", i, std::string(i % 700, 'x')));
    text += expected.back() + '\n';
  }
  expected.push_back(std::string(3 * ReverseLines::default_block_bytes + 17, 'y'));
  text += expected.back() + "\nlast\ntorn";
  expected.push_back("last");
  std::reverse(expected.begin(), expected.end());
  const dt_test::Folder folder;
  dt_test::put(folder / "f", text);
  ReverseLines lines(folder / "f");
  CHECK(read_all(lines) == expected);
}

TEST_CASE("reverse lines: a line longer than the bound is skipped") {
  for (const std::size_t block : {1, 3, 4, 100}) {
    CHECK(reversed("a\n12345\nbcde\n", block, 4) == Lines{"bcde", "a"});
    CHECK(reversed("12345\nb\n123456789\n", block, 4) == Lines{"b"});
    CHECK(reversed("12345\n", block, 4).empty());
  }
}

TEST_CASE("reverse lines: what another process appends after construction is not read") {
  const dt_test::Folder folder;
  const fs::path path = folder / "f";
  dt_test::put(path, "first\nsecond\nto");
  ReverseLines lines(path, 4);
  std::string line;
  REQUIRE(lines.next(line));
  CHECK(line == "second");
  std::ofstream(path, std::ios::app) << "rn\nthird\n";
  REQUIRE(lines.next(line));
  CHECK(line == "first");
  CHECK_FALSE(lines.next(line));
  CHECK(lines.complete_bytes() == 13);
  CHECK(lines.file_bytes() == 15);
}

TEST_CASE("reverse lines: a torn line may be cut off meanwhile, a whole one may not") {
  const dt_test::Folder folder;
  const fs::path path = folder / "f";
  dt_test::put(path, "first\nsecond\ntorn");
  ReverseLines lines(path, 2);
  fs::resize_file(path, lines.complete_bytes());
  std::string line;
  REQUIRE(lines.next(line));
  CHECK(line == "second");
  fs::resize_file(path, 2);
  CHECK(dt_test::caught([&] { lines.next(line); }).says("is truncated"));
}

TEST_CASE("reverse lines: a path that leads to no regular file is refused") {
  const dt_test::Folder folder;
  CHECK(dt_test::caught([&] { ReverseLines(folder / "missing"); }).thrown);
  CHECK(dt_test::caught([&] { ReverseLines(folder.path()); }).thrown);
}
