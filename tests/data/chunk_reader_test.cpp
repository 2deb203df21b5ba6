#include "data/input/chunk_reader.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "base/test_folder.hpp"

using namespace dt;
using namespace dt::data;
using dt_test::caught;
using dt_test::Folder;
using dt_test::put;

namespace {

const auto tokenizer = make_tokenizer("bytes");

/// A tokenizer that needs whole texts.
class UncutTokenizer final : public Tokenizer {
 public:
  const TokenizerIdentity& info() const override { return tokenizer->info(); }
  std::size_t safe_cut(std::string_view) const override { return 0; }
  std::unique_ptr<TextEncoder> encoder() const override { return tokenizer->encoder(); }
  std::string decode(std::span<const std::uint32_t> ids) const override { return tokenizer->decode(ids); }
  void save(const fs::path& folder) const override { tokenizer->save(folder); }
};

std::vector<Chunk> chunks_of(const std::vector<std::string>& inputs, const ReadOptions& options,
                             const Tokenizer& by = *tokenizer) {
  ChunkReader reader(walk_of(inputs), options, by, [] {});
  std::vector<Chunk> chunks;
  while (auto chunk = reader.next()) chunks.push_back(*std::move(chunk));
  return chunks;
}

/// Returns the documents that the chunks' parts form.
std::vector<std::string> documents_of(const std::vector<std::string>& inputs, const ReadOptions& options) {
  std::vector<std::string> documents = {""};
  for (const Chunk& chunk : chunks_of(inputs, options)) {
    for (const DocumentRange& part : chunk.parts) {
      documents.back() += chunk.bytes.substr(part.begin, part.end - part.begin);
      if (part.ends_document) documents.emplace_back();
    }
  }
  documents.pop_back();
  return documents;
}

ReadOptions small_chunks(std::size_t bytes, const std::string& separator = "") {
  ReadOptions options;
  options.chunk_bytes = bytes;
  options.document_separator = separator;
  return options;
}

using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE("a file is one document, whatever the size of chunks") {
  const Folder folder;
  const std::string text = "größer als ein Stück: 日本語 😀\n\nzweiter Absatz\n";
  put(folder / "a", text);
  for (std::size_t bytes = 1; bytes < 70; ++bytes)
    CHECK(documents_of({folder / "a"}, small_chunks(bytes)) == Strings{text});
}

TEST_CASE("chunks of text end between characters") {
  const Folder folder;
  put(folder / "a", "日本語日本語日本語");
  for (const Chunk& chunk : chunks_of({folder / "a"}, small_chunks(4))) CHECK(chunk.bytes.size() % 3 == 0);
}

TEST_CASE("a separator splits wherever chunks end, also at the file's ends and twice in a row") {
  const Folder folder;
  put(folder / "a", "<>one<>two <x> more<><>three<>");
  for (std::size_t bytes = 1; bytes < 40; ++bytes) {
    CHECK(documents_of({folder / "a"}, small_chunks(bytes, "<>")) ==
          Strings{"", "one", "two <x> more", "", "three", ""});
  }
}

TEST_CASE("a separator that begins like itself is found where it first occurs") {
  const Folder folder;
  put(folder / "a", "xaabaaaby");
  for (std::size_t bytes = 1; bytes < 12; ++bytes)
    CHECK(documents_of({folder / "a"}, small_chunks(bytes, "aab")) == Strings{"x", "a", "y"});
}

TEST_CASE("a byte order mark at a file's start is left out, elsewhere it is text") {
  const Folder folder;
  put(folder / "a", "\xEF\xBB\xBFone\xEF\xBB\xBFtwo");
  put(folder / "b", "\xEF\xBB\xBF{\"text\": \"x\"}\n");
  CHECK(documents_of({folder / "a"}, {}) == Strings{"one\xEF\xBB\xBFtwo"});
  ReadOptions lines;
  lines.format = InputFormat::jsonl;
  CHECK(chunks_of({folder / "b"}, lines).at(0).bytes == "{\"text\": \"x\"}\n");
}

TEST_CASE("JSON lines are never cut, and a chunk knows its first line") {
  const Folder folder;
  put(folder / "a.jsonl", "{1}\n{22}\n{a much longer line than a chunk}\n{4}");
  std::string all;
  for (const Chunk& chunk : chunks_of({folder / "a.jsonl"}, small_chunks(6))) {
    CHECK(chunk.stream->is_jsonl);
    CHECK(chunk.first_line == 1 + static_cast<std::size_t>(std::count(all.begin(), all.end(), '\n')));
    all += chunk.bytes;
    CHECK((all.ends_with("\n") || all.ends_with("{4}")));
  }
  CHECK(all == dt_test::content(folder / "a.jsonl"));
}

TEST_CASE("a JSON line that is too long to be held is an error with its line") {
  const Folder folder;
  put(folder / "a.jsonl", "{}\n" + std::string(5000, 'x'));
  ReadOptions options = small_chunks(16);
  options.max_chunk_bytes = 1024;
  const auto error = caught([&] { chunks_of({folder / "a.jsonl"}, options); });
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.says("a.jsonl:2: a line is longer than"));
}

TEST_CASE("text that cannot be cut is held whole, to a limit") {
  const Folder folder;
  put(folder / "a", "one\n--\n" + std::string(500, 'x'));
  ReadOptions options = small_chunks(16, "\n--\n");
  const std::vector<Chunk> chunks = chunks_of({folder / "a"}, options, UncutTokenizer());
  CHECK(chunks.back().bytes.ends_with(std::string(500, 'x')));
  options.max_chunk_bytes = 256;
  const auto error = caught([&] { chunks_of({folder / "a"}, options, UncutTokenizer()); });
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.says("the tokenizer allows no cut within 256"));
}

TEST_CASE("folders are walked in the order of their names, each once, without hidden files") {
  const Folder folder;
  const Folder elsewhere;
  put(elsewhere / "e", "e");
  std::filesystem::create_directory_symlink(folder.path(), elsewhere / "back");
  for (const char* name : {"b", "a", ".hidden", "sub/z", "sub/y.jsonl", ".git/x", "sub/deep/w"}) {
    std::filesystem::create_directories((folder / name).parent_path());
    put(folder / name, std::string(name) == "sub/y.jsonl" ? "{}" : name);
  }
  std::filesystem::create_directory_symlink(folder.path(), folder / "sub/loop");
  std::filesystem::create_directory_symlink(elsewhere.path(), folder / "linked");
  std::filesystem::create_directory_symlink(elsewhere.path(), folder / "sub/again");
  std::filesystem::create_symlink("nowhere", folder / "dangling");
  std::filesystem::create_symlink("a", folder / "link");
  mkfifo((folder / "fifo").c_str(), 0600);

  InputWalk walk({folder.path(), folder / "a"});
  std::vector<std::string> names;
  while (const auto input = walk.next()) {
    names.push_back(input->path.lexically_relative(folder.path()).string());
    CHECK(input->bytes == std::filesystem::file_size(input->path));
  }
  CHECK(names == Strings{"a", "b", "link", "linked/e", "sub/deep/w", "sub/y.jsonl", "sub/z", "a"});
}

TEST_CASE("a missing input is named") {
  const auto error = caught([] { InputWalk({"/no/such/file"}).next(); });
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.says("/no/such/file"));
}

TEST_CASE("a pipe gives the chunks of a file, and its reader is told when it waits") {
  const Folder folder;
  const std::string text = "one two three four five six";
  put(folder / "file", text);
  mkfifo((folder / "pipe").c_str(), 0600);
  std::thread writer([&] {
    const int pipe = open((folder / "pipe").c_str(), O_WRONLY);
    for (const char letter : text) {
      if (letter == 't') std::this_thread::sleep_for(std::chrono::milliseconds(250));
      CHECK(write(pipe, &letter, 1) == 1);
    }
    close(pipe);
  });
  int times_idle = 0;
  ChunkReader reader(walk_of({folder / "pipe"}), small_chunks(8), *tokenizer, [&] { ++times_idle; });
  std::vector<std::string> from_pipe;
  while (auto chunk = reader.next()) from_pipe.push_back(chunk->bytes);
  writer.join();
  std::vector<std::string> from_file;
  for (const Chunk& chunk : chunks_of({folder / "file"}, small_chunks(8))) from_file.push_back(chunk.bytes);
  CHECK(from_pipe == from_file);
  CHECK(times_idle >= 1);
}
