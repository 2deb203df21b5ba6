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
  CHECK(contains(described(verify_checkpoint(checkpoint)), "it holds no manifest.json"));
  fs::create_directory(checkpoint / "manifest.json");
  CHECK_FALSE(verify_checkpoint(checkpoint).empty());
}

}  // namespace
}  // namespace dt::checkpoint
