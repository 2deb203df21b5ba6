#include <catch2/catch.hpp>

#include "base/numeric/digest.hpp"
#include "checkpoint/reader.hpp"
#include "checkpoint/sample.hpp"

namespace dt::checkpoint {
namespace {

using test::contains;
using test::TempFolder;

fs::path file_of(const fs::path& checkpoint) {
  return checkpoint / "rank-00000.h5";
}

std::string described(const std::vector<Problem>& problems) {
  std::string text;
  for (const Problem& problem : problems) text += problem.where + ": " + problem.what + "\n";
  return text;
}

TEST_CASE("any flipped bit of any file of a checkpoint is found") {
  const TempFolder folder;
  const fs::path checkpoint = test::write_small(folder.path());
  REQUIRE(verify_checkpoint(checkpoint).empty());
  for (const fs::path& path : {file_of(checkpoint), checkpoint / "manifest.json"}) {
    const std::string good = read_file(path);
    File file = File::open_write(path);
    for (std::size_t i = 0; i < good.size(); ++i) {
      for (int bit = 0; bit < 8; ++bit) {
        const char flipped = static_cast<char>(good[i] ^ 1 << bit);
        file.write_at(i, std::as_bytes(std::span(&flipped, 1)));
        if (verify_checkpoint(checkpoint).empty()) FAIL(path << ": byte " << i << ", bit " << bit);
      }
      file.write_at(i, std::as_bytes(std::span(&good[i], 1)));
    }
  }
  CHECK(verify_checkpoint(checkpoint).empty());
}

TEST_CASE("a flipped payload bit is named with its tensor, another with its file") {
  const TempFolder folder;
  const fs::path checkpoint = test::write_small(folder.path());
  const StoredPiece piece = load_manifest(checkpoint).pieces[1];
  File file = File::open_write(file_of(checkpoint));
  file.write_at(piece.offset + 1, std::as_bytes(std::span("!", 1)));
  CHECK(contains(described(verify_checkpoint(checkpoint)), "rank-00000.h5: adam_m of a: bytes"));
  file.write_at(9, std::as_bytes(std::span("!", 1)));
  CHECK(verify_checkpoint(checkpoint).size() == 2);
  CHECK(contains(described(verify_checkpoint(checkpoint)), "rank-00000.h5: the bytes outside the tensors"));
}

TEST_CASE("a checkpoint cut off anywhere is found, and not opened") {
  const TempFolder folder;
  const fs::path checkpoint = test::write_small(folder.path());
  const std::string good = read_file(file_of(checkpoint));
  for (std::size_t length = 0; length < good.size(); length += 1 + good.size() / 97) {
    test::write_text(file_of(checkpoint), good.substr(0, length));
    CHECK(contains(described(verify_checkpoint(checkpoint)), fmt::format("has {} bytes", length)));
    CHECK(contains(test::error_of(ErrorKind::input, [&] { Reader reader(checkpoint); }), "rank-00000.h5"));
  }
  test::write_text(file_of(checkpoint), good + "x");
  CHECK(contains(described(verify_checkpoint(checkpoint)), "expected"));
  fs::remove(file_of(checkpoint));
  CHECK(contains(described(verify_checkpoint(checkpoint)), "rank-00000.h5"));
  CHECK(contains(test::error_of(ErrorKind::input, [&] { Reader reader(checkpoint); }), "is missing"));
}

TEST_CASE("a file of another checkpoint under the right name is found") {
  const TempFolder folder;
  const fs::path one = test::write_small(folder.path(), 10);
  const fs::path two = test::write_small(folder.path(), 20);
  fs::copy_file(file_of(two), file_of(one), fs::copy_options::overwrite_existing);
  CHECK_FALSE(verify_checkpoint(one).empty());
}

TEST_CASE("a folder of any state of ruin is described, not thrown at") {
  const TempFolder folder;
  CHECK(contains(described(verify_checkpoint(folder / "none")), "does not exist"));
  const fs::path checkpoint = test::write_small(folder.path());
  const std::string manifest = read_file(checkpoint / "manifest.json");
  test::write_text(checkpoint / "manifest.json", manifest.substr(0, manifest.size() / 2));
  CHECK(contains(described(verify_checkpoint(checkpoint)), "manifest.json: "));
  test::write_text(checkpoint / "manifest.json", "");
  CHECK_FALSE(verify_checkpoint(checkpoint).empty());
  fs::remove(checkpoint / "manifest.json");
  CHECK(contains(described(verify_checkpoint(checkpoint)), "it contains no manifest.json"));
  fs::create_directory(checkpoint / "manifest.json");
  CHECK_FALSE(verify_checkpoint(checkpoint).empty());
}

TEST_CASE("a damaged index of pieces is named, and how many files cannot be checked without it") {
  const TempFolder folder;
  const test::Pieces pieces = test::model_pieces(test::tiny_gpt2());
  const auto write = [&](std::int64_t step) {
    return test::write_by(3, folder.path(), test::sample_manifest(step), pieces.list, 0);
  };
  const fs::path checkpoint = write(10), index = checkpoint / index_name;
  const std::string good = read_file(index);
  const auto finding = [&] {
    CHECK_FALSE(test::error_of(ErrorKind::input, [&] { Reader(checkpoint).pieces(); }).empty());
    const std::string text = described(verify_checkpoint(checkpoint));
    CHECK(contains(text, "pieces.index: without the piece index, 3 of 3 files cannot be checked"));
    return text;
  };
  CHECK(verify_checkpoint(checkpoint).empty());
  CHECK(unlisted_files(checkpoint, load_manifest(checkpoint)).empty());
  File::open_write(index).write_at(20, std::as_bytes(std::span("!", 1)));
  CHECK(contains(finding(), fmt::format("pieces.index: bytes 0 to {} have the digest", good.size() - 8)));
  test::write_text(index, good.substr(0, good.size() - 3) + "abc");
  CHECK(contains(finding(), "pieces.index: the block digests have the digest"));
  test::write_text(index, good.substr(0, 100));
  CHECK(contains(finding(), "pieces.index has 100 bytes, expected"));
  test::write_text(index, "");
  finding();
  fs::remove(index);
  CHECK(contains(finding(), "No such file"));
  CHECK(contains(test::error_of(ErrorKind::input, [&] { Reader reader(checkpoint); }),
                 "pieces.index is missing"));
  // The index of another step has the same size.
  fs::copy_file(write(20) / index_name, index);
  CHECK(contains(finding(), "pieces.index: the block digests"));
  // A process that leaves the index to another one says so, too, if it cannot check its own files.
  int turn = 0;
  const auto second = verify_checkpoint(checkpoint, {}, [&] { return turn++ % 2 == 0; });
  CHECK(contains(described(second), "pieces.index: without the piece index, 2 of 3 files cannot be checked"));
}

}  // namespace
}  // namespace dt::checkpoint
