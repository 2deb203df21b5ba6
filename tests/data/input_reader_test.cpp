#include "data/input/input_reader.hpp"

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test_folder.hpp"
#include "data/input/content.hpp"

using namespace dt;
using namespace dt::data;
using namespace std::string_literals;
using dt_test::Folder;
using dt_test::put;

TEST_CASE("content is told by the first bytes, and what is too short to tell is plain") {
  CHECK(content_of("") == Content::plain);
  CHECK(content_of("\x1F\x8B") == Content::plain);
  CHECK(content_of("\x1F\x8B\x08 and more") == Content::gzip);
  CHECK(content_of("PAR1") == Content::parquet);
  CHECK(content_of("ARROW1 is a word") == Content::plain);
  CHECK(content_of("ARROW1\0\0"s) == Content::arrow_file);
  CHECK(content_of(std::string(257, 'x') + "ustar") == Content::tar);
  CHECK(content_of(std::string(258, 'x') + "ustar") == Content::plain);
  CHECK(content_of("BZh9") == Content::plain);
  CHECK(content_of("BZh91AY&SY") == Content::bzip2);
  CHECK(content_of("\x04\x22\x4D\x18") == Content::lz4);
  CHECK(content_of("LZIP\1") == Content::lzip);
  CHECK(content_of("PK\3\4") == Content::zip);
  CHECK(content_of("PK") == Content::plain);
}

TEST_CASE("lzma alone is told by its header's values, and text is none") {
  const std::string unknown_size(8, '\xFF');
  CHECK(content_of("\x5D\0\0\x80\0"s + unknown_size + '\0') == Content::lzma);
  CHECK(content_of("\x5D\0\0\xC0\0"s + "\1\0\0\0\0\0\0\0"s + '\0') == Content::lzma);
  CHECK(content_of("\x5D\0\0\x90\0"s + unknown_size + '\0') == Content::plain);  // no dictionary's size
  CHECK(content_of("\x5D\0\0\x80\0"s + std::string(9, '\x7F')) == Content::plain);
  CHECK(content_of("] and more text after it") == Content::plain);
  CHECK(content_of(std::string(100, '\0')) == Content::plain);
}

namespace {

/// Returns an entry of a cpio archive (newc).
std::string cpio_entry(const std::string& name, const std::string& content, int inode, int links = 1) {
  std::string out = "070701";
  const std::size_t numbers[] = {static_cast<std::size_t>(inode),
                                 name == "TRAILER!!!" ? 0u : 0100644u,
                                 0,
                                 0,
                                 static_cast<std::size_t>(links),
                                 0,
                                 content.size(),
                                 0,
                                 0,
                                 0,
                                 0,
                                 name.size() + 1,
                                 0};
  for (const std::size_t number : numbers) out += fmt::format("{:08X}", number);
  const auto pad = [&] { out.resize((out.size() + 3) / 4 * 4); };
  out += name + '\0';
  pad();
  out += content;
  pad();
  return out;
}

/// Returns an entry of a binary or of an old octal cpio archive.
std::string old_cpio_entry(const std::string& name, const std::string& content, bool is_binary) {
  const unsigned mode = name == "TRAILER!!!" ? 0 : 0100644, size = static_cast<unsigned>(content.size());
  const auto name_bytes = static_cast<unsigned>(name.size() + 1);
  if (!is_binary)
    return fmt::format("070707{:06o}{:06o}{:06o}{:06o}{:06o}{:06o}{:06o}{:011o}{:06o}{:011o}", 0, 1, mode, 0,
                       0, 1, 0, 0, name_bytes, size) +
           name + '\0' + content;
  std::string out;
  const auto pad = [&] { out.resize((out.size() + 1) / 2 * 2); };
  for (const unsigned number : {070707U, 0U, 1U, mode, 0U, 0U, 1U, 0U, 0U, 0U, name_bytes, 0U, size})
    out += {static_cast<char>(number & 255U), static_cast<char>(number >> 8U)};
  out += name + '\0';
  pad();
  out += content;
  pad();
  return out;
}

std::string all_text(const fs::path& file) {
  InputReader reader(walk_of({file}), {});
  std::string text;
  while (const auto block = reader.next([] {})) text += block->bytes + (block->ends_stream ? "|" : "");
  return text;
}

}  // namespace

TEST_CASE("what an input becomes when it is unpacked is bounded") {
  const Folder folder;
  put(folder / "in.cpio", cpio_entry("a", std::string(600, 'a'), 1) + cpio_entry(".b", "hidden", 2) +
                              cpio_entry("c", std::string(600, 'c'), 3) + cpio_entry("TRAILER!!!", "", 0));
  put(folder / "plain", std::string(5000, 'p'));
  const auto read = [&](const char* name, std::uint64_t limit) {
    InputOptions options;
    options.max_output_bytes = limit;
    InputReader reader(walk_of({folder / name}), options);
    std::uint64_t bytes = 0;
    while (const auto block = reader.next([] {})) bytes += block->bytes.size();
    return bytes;
  };
  CHECK(read("in.cpio", 1200) == 1200);
  CHECK(read("plain", 100) == 5000);  // plain content stays as it is
  const auto error = dt_test::caught([&] { read("in.cpio", 1199); });
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.says("in.cpio unpacks to more than --max-output-bytes 1.2 KiB"));
}

TEST_CASE("cpio archives are read; of a file's names the last has its content") {
  const Folder folder;
  const std::string end = cpio_entry("TRAILER!!!", "", 0);
  const std::string archive =
      cpio_entry("a.txt", "one", 1) + cpio_entry("b.txt", "", 2, 2) + cpio_entry("c.txt", "two", 2, 2) + end;
  CHECK(content_of(archive.substr(0, 512)) == Content::cpio);
  CHECK(content_of(
            "070701 is a number of many digits, and this is text that goes on for a while, until it is as "
            "long as a header would be") == Content::plain);
  put(folder / "in.cpio", archive + std::string(388, '\0'));
  CHECK(all_text(folder / "in.cpio") == "one||two|");
  put(folder / "in.cpio", archive + archive);
  CHECK(dt_test::caught([&] {
          all_text(folder / "in.cpio");
        }).says("has data after the end of its cpio archive"));
  put(folder / "in.cpio", archive.substr(0, 150));
  CHECK(dt_test::caught([&] { all_text(folder / "in.cpio"); }).says("is damaged: cpio at byte"));
}

TEST_CASE("old cpio archives are read to their ends, and text that begins like one is text") {
  const Folder folder;
  for (const bool is_binary : {false, true}) {
    const std::string archive = old_cpio_entry("a.txt", "one", is_binary) +
                                old_cpio_entry("b.txt", "four", is_binary) +
                                old_cpio_entry("TRAILER!!!", "", is_binary);
    put(folder / "in.cpio", archive + std::string(400, '\0'));
    CHECK(all_text(folder / "in.cpio") == "one|four|");
    put(folder / "in.cpio", archive + "some more");
    CHECK(dt_test::caught([&] {
            all_text(folder / "in.cpio");
          }).says("has data after the end of its cpio archive"));
  }
  CHECK(content_of(old_cpio_entry("TRAILER!!!", "", true)) == Content::cpio);
  CHECK(content_of(old_cpio_entry(std::string(600, 'n'), "", true).substr(0, 512)) == Content::cpio);
  CHECK(content_of("\xC7\x71 is how a text in Latin-1 begins, which goes on and on") == Content::plain);
  for (const char letter : {'\n', 'a'})  // a length that a name may have, and one that it may not have
    CHECK(content_of("\xC7\x71" + std::string(510, letter)) == Content::plain);
}

TEST_CASE("formats whose names could begin text are told by what text has not") {
  const Folder folder;
  put(folder / "orc", "ORC\n\3\0\0"s);
  CHECK(dt_test::caught([&] {
          all_text(folder / "orc");
        }).says("is an ORC file, which dt does not read; convert it to JSON lines"));
  put(folder / "orc", "ORCs are not goblins\n");
  CHECK(all_text(folder / "orc") == "ORCs are not goblins\n|");
}

TEST_CASE("skippable frames may stand before zstd's and lz4's") {
  const std::string skipped = "\x5A\x2A\x4D\x18\3\0\0\0abc"s;
  CHECK(content_of(skipped) == Content::zstd);
  CHECK(content_of(skipped + skipped + "\x28\xB5\x2F\xFD") == Content::zstd);
  CHECK(content_of(skipped + "\x04\x22\x4D\x18") == Content::lz4);
  CHECK(content_of("\x50\x2A\x4D\x18\xFF\xFF\xFF\xFF"s) == Content::zstd);
}

TEST_CASE("blocks say how much of their file was read, all of it in the end") {
  const Folder folder;
  put(folder / "a", std::string(1000000, 'a'));
  put(folder / "b", "b");
  InputReader reader(walk_of({folder / "a", folder / "b"}), {});
  std::map<std::string, std::pair<std::size_t, std::uint64_t>> sizes;
  while (const auto block = reader.next([] {})) {
    auto& [bytes, file_bytes] = sizes[fs::path(block->stream->name).filename()];
    bytes += block->bytes.size();
    file_bytes += block->file_bytes;
  }
  CHECK(sizes.at("a") == std::pair<std::size_t, std::uint64_t>(1000000, 1000000));
  CHECK(sizes.at("b") == std::pair<std::size_t, std::uint64_t>(1, 1));
}

TEST_CASE("a reader ends while it waits: for a pipe's writer, for its bytes, for room") {
  const Folder folder;
  mkfifo((folder / "pipe").c_str(), 0600);
  { const InputReader reader(walk_of({folder / "pipe"}), {}); }
  const int writer = open((folder / "pipe").c_str(), O_RDWR);
  { const InputReader reader(walk_of({folder / "pipe"}), {}); }
  close(writer);
  put(folder / "large", std::string(10000000, 'x'));
  { const InputReader reader(walk_of({folder / "large"}), {}); }
}
