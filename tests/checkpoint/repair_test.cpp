#include "checkpoint/repair.hpp"

#include <catch2/catch.hpp>

#include "checkpoint/sample.hpp"

namespace dt::checkpoint {
namespace {

using test::contains;
using test::error_of;
using test::TempFolder;

/// A checkpoint of three writers, and copies of it. The manifest lists the pieces, or there is an index of
/// them.
struct Ward {
  explicit Ward(bool with_index = false)
      : has_index(with_index), path(write("run", 0)), replica(folder / "backup" / path.filename()) {
    fs::create_directory(folder / "backup");
    fs::copy(path, replica);
    for (const auto& entry : fs::directory_iterator(path)) names.push_back(entry.path().filename().string());
  }
  fs::path write(const std::string& run, double first, std::int64_t step = 10) const {
    test::Pieces pieces;
    fs::create_directory(folder / run);
    pieces.add(kind_weights, "a", Piece::whole({300, 10}), DType::f32, first);
    pieces.add(kind_first_moment, "a", Piece::whole({300, 10}), DType::f32, first + 1);
    return test::write_by(3, folder / run, test::sample_manifest(step), pieces.list, has_index ? 0 : 3);
  }
  void flip(const fs::path& file, std::uint64_t byte) const {
    char c = read_file(file)[byte];
    c = static_cast<char>(c ^ 1);
    File::open_write(file).write_at(byte, std::as_bytes(std::span(&c, 1)));
  }
  void expect_whole() const {
    CHECK(verify_checkpoint(path).empty());
    for (const std::string& name : names) CHECK(read_file(path / name) == read_file(replica / name));
    CHECK(std::distance(fs::directory_iterator(path), fs::directory_iterator()) == (has_index ? 5 : 4));
  }
  std::string refusal(ErrorKind kind) const {
    return error_of(kind, [&] { repair_checkpoint(path, replica); });
  }

  /// Returns all pieces, in the order of files.
  std::vector<StoredPiece> pieces() const {
    const Manifest manifest = load_manifest(path);
    const auto index = open_pieces(manifest, path);
    std::vector<StoredPiece> all;
    for (std::size_t file = 0; file < manifest.files.size(); ++file) {
      for (const StoredPiece& piece : index->of_file(file)) all.push_back(piece);
    }
    return all;
  }

  TempFolder folder;
  bool has_index;
  fs::path path;
  fs::path replica;
  std::vector<std::string> names;
};

TEST_CASE("nothing is done to what is whole") {
  const Ward ward(GENERATE(false, true));
  std::uint64_t done = 0;
  const Repair repair =
      repair_checkpoint(ward.path, ward.replica, [&](std::uint64_t bytes) { done += bytes; });
  CHECK((repair.repaired.empty() && repair.problems.empty()));
  std::uint64_t bytes = 0;
  const Manifest manifest = load_manifest(ward.path);
  if (manifest.index) bytes += manifest.index->bytes;
  for (const StoredFile& file : manifest.files) bytes += file.bytes;
  CHECK(done == 2 * bytes);
}

TEST_CASE("blocks, metadata, missing, cut and lengthened files and the manifest are mended") {
  const Ward ward(GENERATE(false, true));
  const auto mended = [&] {
    const Repair repair = repair_checkpoint(ward.path, ward.replica);
    CHECK(repair.problems.empty());
    ward.expect_whole();
    return repair.repaired;
  };
  const StoredPiece piece = ward.pieces()[1];
  ward.flip(ward.path / piece.file, piece.offset + 3);
  const std::vector<Problem> repaired = mended();
  REQUIRE(repaired.size() == 1);
  CHECK(contains(repaired[0].where, piece.file + ": " + piece.kind + " of a"));
  for (const std::string& name : ward.names) {
    INFO(name);
    const std::string good = read_file(ward.path / name);
    ward.flip(ward.path / name, 20);
    CHECK(mended().size() == 1);
    test::write_text(ward.path / name, good.substr(0, good.size() / 2));
    CHECK(mended().size() == 1);
    test::write_text(ward.path / name, good + "more");
    CHECK(mended().size() == 1);
    test::write_text(ward.path / name, "");
    CHECK(mended().size() == 1);
    fs::remove(ward.path / name);
    CHECK(mended().size() == 1);
  }
  for (const std::string& name : ward.names) fs::remove(ward.path / name);
  CHECK(mended().size() == ward.names.size());
}

TEST_CASE("two damaged copies make a whole one where their damage differs; else what is left is named") {
  const Ward ward(GENERATE(false, true));
  const std::vector<StoredPiece> pieces = ward.pieces();
  if (ward.has_index) ward.flip(ward.replica / index_name, 20);
  ward.flip(ward.path / pieces[0].file, pieces[0].offset);
  ward.flip(ward.replica / pieces[1].file, pieces[1].offset);
  fs::remove(ward.replica / "rank-00002.h5");
  test::write_text(ward.replica / manifest_name, "torn");
  CHECK(repair_checkpoint(ward.path, ward.replica).problems.empty());
  // A file of the wrong length takes from each copy the bytes that are good.
  const std::string good = read_file(ward.path / "rank-00001.h5");
  test::write_text(ward.path / "rank-00001.h5", good + "more");
  CHECK(repair_checkpoint(ward.path, ward.replica).problems.empty());

  ward.flip(ward.path / pieces[1].file, pieces[1].offset);
  ward.flip(ward.path / pieces[0].file, pieces[0].offset);
  const std::string before = read_file(ward.path / pieces[1].file);
  const Repair repair = repair_checkpoint(ward.path, ward.replica);
  REQUIRE(repair.problems.size() == 1);
  CHECK(contains(repair.problems[0].where, pieces[1].file));
  CHECK(repair.repaired.size() == 1);
  CHECK(read_file(ward.path / pieces[1].file) == before);
  fs::remove(ward.path / "rank-00002.h5");
  CHECK(repair_checkpoint(ward.path, ward.replica).problems.size() == 2);
  CHECK_FALSE(fs::exists(ward.path / "rank-00002.h5"));
  fs::remove(ward.path / manifest_name);
  CHECK(contains(ward.refusal(ErrorKind::verification), "both manifests are damaged"));
}

TEST_CASE("a copy of another checkpoint is refused, and nothing is changed") {
  const Ward ward(GENERATE(false, true));
  const std::string refused = "not a copy of the same checkpoint";
  const auto refusal_of = [&](const fs::path& replica) {
    return error_of(ErrorKind::input, [&] { repair_checkpoint(ward.path, replica); });
  };
  const fs::path other_step = ward.write("run", 0, 20);
  const fs::path other_run = ward.write("other", 5000);
  CHECK(contains(refusal_of(other_step), refused));
  CHECK(contains(refusal_of(other_run), refused));
  CHECK(contains(refusal_of(ward.path), "itself"));
  // Without its own manifest, a checkpoint is recognised by its name and its content.
  const std::string first = read_file(ward.path / "rank-00000.h5");
  fs::remove(ward.path / manifest_name);
  CHECK(contains(refusal_of(other_step), "step 20"));
  CHECK(contains(refusal_of(other_run), "most of"));
  CHECK(read_file(ward.path / "rank-00000.h5") == first);
  CHECK_FALSE(fs::exists(ward.path / manifest_name));
  fs::rename(ward.path, ward.folder / "mine");
  CHECK(contains(error_of(ErrorKind::input, [&] { repair_checkpoint(ward.folder / "mine", ward.replica); }),
                 "cannot tell whether"));
  fs::rename(ward.folder / "mine", ward.path);
  CHECK(repair_checkpoint(ward.path, ward.replica).problems.empty());
  ward.expect_whole();
}

TEST_CASE("an index that neither copy has whole keeps a checkpoint from being mended, and that is said") {
  const Ward ward(true);
  ward.flip(ward.path / index_name, 20);
  fs::copy_file(ward.write("other", 5000) / index_name, ward.replica / index_name,
                fs::copy_options::overwrite_existing);
  const auto before = read_file(ward.path / index_name);
  CHECK(contains(ward.refusal(ErrorKind::verification), "pieces.index: bytes 0 to"));
  CHECK(read_file(ward.path / index_name) == before);
}

}  // namespace
}  // namespace dt::checkpoint
