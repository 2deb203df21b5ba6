#include "data/input/input_ranges.hpp"

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/test_folder.hpp"
#include "data/input/chunk_reader.hpp"

using namespace dt;
using namespace dt::data;
using dt_test::Folder;
using dt_test::put;

namespace {

struct Slice {
  std::string name;
  std::uint64_t begin;
  std::optional<std::uint64_t> end;
  std::uint64_t range;
  bool operator==(const Slice&) const = default;
};

std::vector<Slice> slices_of(const InputRanges& ranges, const std::function<bool(std::uint64_t)>& wants) {
  std::vector<Slice> slices;
  RangeWalk walk(ranges, wants);
  while (const auto file = walk.next())
    slices.push_back({file->path.filename(), file->begin, file->end, file->range});
  return slices;
}

std::vector<Slice> slices_of(const InputRanges& ranges) {
  return slices_of(ranges, [](auto) { return true; });
}

std::optional<std::uint64_t> next_document_in(const Folder& folder, const std::string& text,
                                              std::uint64_t from, const std::string& separator) {
  put(folder / "text", text);
  return next_document(File::open_read(folder / "text"), from, separator);
}

constexpr auto none = std::nullopt;

}  // namespace

TEST_CASE("small files share a range, large ones of lines are cut behind a newline") {
  const Folder folder;
  put(folder / "a", "12345");
  put(folder / "b", "");
  put(folder / "c", "1234567");
  put(folder / "d.jsonl", "12345678\n12345678901234\n1\n2\n3\n");
  put(folder / "e", "1");
  const InputRanges ranges({folder.path()}, {}, 10);
  CHECK(ranges.total_bytes() == 43);
  // The search for a cut begins at the tenth byte of a range, and for the next one ten bytes behind the
  // cut.
  CHECK(slices_of(ranges) == std::vector<Slice>{{"a", 0, none, 0},
                                                {"b", 0, none, 0},
                                                {"c", 0, none, 0},
                                                {"d.jsonl", 0, 24, 1},
                                                {"d.jsonl", 24, none, 2},
                                                {"e", 0, none, 2}});
  CHECK(slices_of(ranges, [](std::uint64_t range) { return range == 2; }) ==
        std::vector<Slice>{{"d.jsonl", 24, none, 2}, {"e", 0, none, 2}});
}

TEST_CASE("what cannot be cut is one range, and a pipe is one by itself") {
  const Folder folder;
  put(folder / "a", std::string(100, '\n'));                         // text without a separator
  put(folder / "b.jsonl", "\x1F\x8B\x08" + std::string(100, '\n'));  // gzip
  put(folder / "d.jsonl", std::string(100, 'x'));
  CHECK(InputRanges({folder.path()}, {}, 10).count() == 3);
  ReadOptions mends;
  mends.format = InputFormat::jsonl;
  CHECK(InputRanges({folder / "a"}, mends, 10).count() == 10);
  mends.invalid = InvalidUtf8::skip;  // skipped bytes may make a separator whole
  CHECK(InputRanges({folder / "a"}, mends, 10).count() == 1);
  REQUIRE(::mkfifo((folder / "c").c_str(), 0600) == 0);
  const InputRanges ranges({folder / "a", folder / "c", folder / "d.jsonl"}, {}, 1000);
  CHECK(ranges.has_pipe());
  CHECK(ranges.total_bytes() == 0);
  CHECK(slices_of(ranges) ==
        std::vector<Slice>{{"a", 0, none, 0}, {"c", 0, none, 1}, {"d.jsonl", 0, none, 2}});
}

TEST_CASE("a file is refused by what it begins with, not by what a range of it does") {
  const Folder folder;
  ReadOptions lines;
  lines.document_separator = "\n";
  put(folder / "binary", "text\n" + std::string(600, '\0'));
  CHECK_THROWS_AS(InputRanges({folder / "binary"}, lines, 10), Error);
  put(folder / "text", std::string(20, '\0') + "\n" + std::string(600, 'x') + "\n");
  const InputRanges ranges({folder / "text"}, lines, 10);
  REQUIRE(ranges.count() == 2);
  const auto tokenizer = make_tokenizer("bytes");
  const auto walk = std::make_shared<RangeWalk>(ranges, [](std::uint64_t range) { return range == 0; });
  ChunkReader reader([walk] { return walk->next(); }, lines, *tokenizer, [] {});
  CHECK(reader.next().value().bytes == std::string(20, '\0') + "\n");
}

TEST_CASE("there are about as many ranges as are asked for at most, however much there is") {
  const Folder folder;
  std::string lines;
  for (int i = 0; i < 100'000; ++i) lines += "{}\n";
  put(folder / "a.jsonl", lines);
  const std::uint64_t count = InputRanges({folder.path()}, {}, 1).count();
  CHECK(count > 500);
  CHECK(count <= 513);
}

TEST_CASE("inputs that change have another digest") {
  const Folder folder;
  put(folder / "a", "1");
  const std::uint64_t digest = InputRanges({folder.path()}, {}, 10).digest();
  CHECK(InputRanges({folder.path()}, {}, 20).digest() == digest);
  put(folder / "b", "");
  CHECK(InputRanges({folder.path()}, {}, 10).digest() != digest);
}

TEST_CASE("read access of inputs: files, and all folders that are walked") {
  const Folder folder;
  fs::create_directories(folder / "text" / "inner");
  put(folder / "text" / "inner" / "a", "a");
  const auto mode_for = [&](mode_t text, mode_t inner, mode_t file, const std::string& named) {
    REQUIRE(::chmod((folder / "text").c_str(), text) == 0);
    REQUIRE(::chmod((folder / "text" / "inner").c_str(), inner) == 0);
    REQUIRE(::chmod((folder / "text" / "inner" / "a").c_str(), file) == 0);
    return InputRanges({(folder / named).string()}, {}, 1, [] {}).readers().restricted_mode(0755, 4242);
  };
  CHECK(mode_for(0755, 0755, 0644, "text") == 0755);
  CHECK(mode_for(0755, 0755, 0600, "text") == 0700);
  CHECK(mode_for(0755, 0700, 0644, "text") == 0700);
  CHECK(mode_for(0755, 0700, 0644, "text/*") == 0700);
  CHECK(mode_for(0700, 0755, 0644, "text") == 0700);
  CHECK(mode_for(0700, 0755, 0644, "text/inner/a") == 0755);  // all users that may read the file
}

TEST_CASE("a document begins where it would if the input were read from the start") {
  const Folder folder;
  CHECK(next_document_in(folder, "ab\ncd\n", 0, "\n") == 3);
  CHECK(next_document_in(folder, "ab\ncd\n", 2, "\n") == 3);
  CHECK(next_document_in(folder, "ab\ncd\n", 3, "\n") == 6);
  CHECK(next_document_in(folder, "ab\ncd", 3, "\n") == none);
  CHECK(next_document_in(folder, "ab--cd", 3, "--") == none);   // the separator begins before
  CHECK(next_document_in(folder, "a-----b--c", 2, "--") == 9);  // -- -- -: from the first dash, not from here
  CHECK(next_document_in(folder, "a-----b--c", 1, "--") == 3);
  const std::string far = std::string(1'000'000, 'x') + "--y";
  CHECK(next_document_in(folder, far, 10, "--") == 1'000'002);
  for (const std::size_t at : {262'143u, 262'144u, 262'145u}) {  // at the border of what is read at a time
    std::string text(600'000, 'x');
    text.replace(at, 2, "--");
    CHECK(next_document_in(folder, text, 0, "--") == at + 2);
  }
}
