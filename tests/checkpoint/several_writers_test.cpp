#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "base/system/host.hpp"
#include "checkpoint/compare.hpp"
#include "checkpoint/sample.hpp"
#include "checkpoint/writer.hpp"
#include "checkpoint/writer_manifest.hpp"
#include "convert/export.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::checkpoint {
namespace {

using test::contains;
using test::error_of;
using test::global_index;
using test::Pieces;
using test::TempFolder;
using test::write_by;

const std::vector<std::string> all_kinds = {kind_weights, kind_first_moment, kind_second_moment};

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  return names;
}

std::int64_t wrong_elements(const Reader& reader, const std::string& kind, const std::string& name,
                            const Piece& wanted, double first) {
  std::vector<double> values(static_cast<std::size_t>(wanted.numel()));
  reader.read(kind, name, wanted, host_tensor(values));
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < wanted.numel(); ++i) {
    const double expected = first + static_cast<double>(global_index(wanted, i));
    if (values[static_cast<std::size_t>(i)] != expected) ++wrong;
  }
  return wrong;
}

/// Returns the whole, the inner part of the box, and an interval of the whole.
std::vector<Piece> some_of(const Shape& shape) {
  Piece inner = Piece::whole(shape);
  std::vector<std::int64_t> dims;
  for (int d = 0; d < shape.rank(); ++d) {
    inner.start[static_cast<std::size_t>(d)] = shape[d] / 3;
    dims.push_back(shape[d] - shape[d] / 3);
  }
  inner.box = Shape(dims);
  inner.end = inner.box.numel();
  Piece interval = inner;
  interval.begin = interval.end / 4;
  interval.end -= interval.end / 5;
  return {Piece::whole(shape), inner, interval};
}

TEST_CASE(
    "what any number of writers wrote reads back, whole and in pieces, and is the same to every reader") {
  const int num_writers = GENERATE(1, 2, 3, 5, 7, 67);  // 67 are more files than a reader keeps open
  CAPTURE(num_writers);
  const TempFolder folder;
  const Manifest header = test::sample_manifest();
  const Pieces pieces = test::model_pieces(header.model, DType::f32, all_kinds);
  const Reader one(test::write_checkpoint(folder / "one", header, pieces.list));
  const Reader several(write_by(num_writers, folder / "several", header, pieces.list));

  CHECK(several.path() == folder / "several/step-00000010.g1");
  std::set<std::string> files = {manifest_name};
  for (int writer = 0; writer < num_writers; ++writer) files.insert(piece_file_name(writer));
  CHECK(names_in(several.path()) == files);
  CHECK(names_in(folder / "several") == std::set<std::string>{"step-00000010.g1"});
  CHECK(several.verify().empty());

  const model::ParameterTable table(header.model);
  double first = 0;
  for (const model::ParamSpec& param : table.params()) {
    INFO(param.name);
    for (const Piece& wanted : some_of(param.shape)) {
      for (const std::string& kind : all_kinds)
        CHECK(wrong_elements(several, kind, param.name, wanted, first) == 0);
    }
    first += 1000;
  }
  int compared = 0;
  compare(one, several, [&](const TensorComparison& c) {
    CHECK(c.outcome == TensorComparison::Outcome::equal);
    ++compared;
  });
  CHECK(compared == static_cast<int>(pieces.list.size()));
  for (const Reader* reader : {&one, &several}) {
    const std::string name = reader == &one ? "one" : "several";
    convert::export_hf(convert::ExportSource(reader->path()), folder / (name + "_hf"));
    convert::export_h5(convert::ExportSource(reader->path()), folder / (name + ".h5"));
  }
  CHECK(read_file(folder / "one_hf/model.safetensors") == read_file(folder / "several_hf/model.safetensors"));
  CHECK(read_file(folder / "one_hf/config.json") == read_file(folder / "several_hf/config.json"));
  CHECK(read_file(folder / "one.h5") == read_file(folder / "several.h5"));
}

TEST_CASE("the manifest lists files and pieces in the order of writers, whoever wrote first") {
  const TempFolder folder;
  const Manifest header = test::sample_manifest();
  const Pieces pieces = test::model_pieces(header.model);
  CheckpointTransaction unfinished(folder.path(), 10, 1);
  for (int writer : {2, 0, 1})
    write_shard(unfinished.path(), header, writer, test::share_of(pieces.list, writer, 3));
  const Manifest manifest = load_manifest(unfinished.commit(header, 3));
  REQUIRE(manifest.files.size() == 3);
  CHECK(manifest.files[2].name == "rank-00002.h5");
  CHECK(std::is_sorted(manifest.pieces.begin(), manifest.pieces.end(),
                       [](const StoredPiece& a, const StoredPiece& b) { return a.file < b.file; }));
  std::vector<std::string> tensors;
  for (const StoredPiece& piece : manifest.pieces) {
    if (tensors.empty() || tensors.back() != piece.tensor) tensors.push_back(piece.tensor);
  }
  REQUIRE(tensors.size() == pieces.list.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) CHECK(tensors[i] == pieces.list[i].tensor);
  CHECK(manifest.state.seed == header.state.seed);
  CHECK_FALSE(manifest.created.empty());
  CHECK_FALSE(manifest.dt_version.empty());
}

TEST_CASE("pieces cut by tensor parallelism are divided among writers and read back") {
  const TempFolder folder;
  const Shape shape{6, 5};
  Pieces pieces;
  for (const std::int64_t column : {0, 2}) {
    Piece box = Piece::whole(shape);
    box.start[1] = column;
    box.box = Shape{6, column == 0 ? 2 : 3};
    box.end = box.box.numel();
    pieces.add(kind_weights, "w", box, DType::f64, 0.5);
  }
  for (int num_writers : {2, 4, 7, 31}) {
    const fs::path place = folder / std::to_string(num_writers);
    const Reader reader(write_by(num_writers, place, test::sample_manifest(), pieces.list));
    for (const Piece& wanted : some_of(shape))
      CHECK(wrong_elements(reader, kind_weights, "w", wanted, 0.5) == 0);
  }
}

TEST_CASE("progress counts each writer's payload") {
  const TempFolder folder;
  const Manifest header = test::sample_manifest();
  const Pieces pieces = test::model_pieces(header.model);
  std::uint64_t written = 0;
  CheckpointTransaction unfinished(folder.path(), 10, 1);
  for (int writer : {0, 1}) {
    write_shard(unfinished.path(), header, writer, test::share_of(pieces.list, writer, 2),
                [&](std::uint64_t bytes) { written += bytes; });
  }
  CHECK(written == stored_bytes(Reader(unfinished.commit(header, 2)).pieces()));
}

TEST_CASE("a writer without elements leaves a part but no file of pieces") {
  const TempFolder folder;
  const Manifest header = test::sample_manifest();
  Pieces pieces;
  pieces.add(kind_weights, "w", Piece::whole({2}), DType::f64, 3);
  Pieces none;
  Piece empty = Piece::whole({2});
  empty.end = 0;
  none.add(kind_weights, "w", empty, DType::f64, 3);
  CheckpointTransaction unfinished(folder.path(), 10, 1);
  write_shard(unfinished.path(), header, 0, {});
  write_shard(unfinished.path(), header, 1, pieces.list);
  write_shard(unfinished.path(), header, 2, none.list);
  CHECK(names_in(unfinished.path()) ==
        std::set<std::string>{"part-00000.json", "part-00001.json", "part-00002.json", "rank-00001.h5"});
  const Reader reader(unfinished.commit(header, 3));
  CHECK(reader.manifest().files.size() == 1);
  CHECK(names_in(reader.path()) == std::set<std::string>{"manifest.json", "rank-00001.h5"});
  CHECK(reader.verify().empty());
  CHECK(wrong_elements(reader, kind_weights, "w", Piece::whole({2}), 3) == 0);
}

TEST_CASE("a part read back is the part written, and any changed byte of it is refused") {
  WriterManifest writer_manifest{20, 3, 7, {{"rank-00007.h5", 5000, 9}}, {}};
  writer_manifest.pieces = {
      {"w", kind_weights, DType::f32, Piece::whole({2, 3}), "rank-00007.h5", "/weights/w", {5}, 2048}};
  const std::string text = to_json(writer_manifest);
  const WriterManifest back = parse_writer_manifest(text, "part");
  CHECK(to_json(back) == text);
  CHECK(back.step == 20);
  CHECK(back.generation == 3);
  CHECK(back.writer == 7);
  CHECK(back.files.at(0).bytes == 5000);
  CHECK(back.pieces.at(0).piece == Piece::whole({2, 3}));
  const auto refused = [](const std::string& other) {
    return !error_of(ErrorKind::input, [&] { parse_writer_manifest(other, "some/part"); }).empty();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = static_cast<char>(other[i] ^ 1);
    if (!refused(other)) FAIL("byte " << i);
    if (!refused(text.substr(0, i))) FAIL("cut off at byte " << i);
  }
  const std::string manifest = to_json(test::sample_manifest());
  CHECK(contains(error_of(ErrorKind::input, [&] { parse_writer_manifest(manifest, "some/part"); }),
                 "dt-checkpoint-part"));
}

/// A checkpoint of three writers beside an older one; all but the commit is done.
class Uncommitted {
 public:
  Uncommitted() {
    unfinished = std::make_unique<CheckpointTransaction>(folder.path(), 20, 2);
    for (int writer : {0, 1, 2})
      write_shard(unfinished->path(), header, writer, test::share_of(pieces.list, writer, 3));
  }

  /// Returns the environment error of a commit. Checks that only the older checkpoint is left once the
  /// unfinished one is gone.
  std::string commit_error() {
    const std::string message =
        error_of(ErrorKind::environment, [&] { unfinished->commit(header, 3, {.timeout_s = 0}); });
    CHECK_FALSE(message.empty());
    CHECK_FALSE(message.starts_with("of another kind"));
    unfinished.reset();
    CHECK(names_in(folder.path()) == std::set<std::string>{older.filename().string()});
    CHECK(verify_checkpoint(older).empty());
    return message;
  }
  fs::path in(const char* name) const { return unfinished->path() / name; }

  TempFolder folder;
  Manifest header = test::sample_manifest(20, 2);
  Pieces pieces = test::model_pieces(header.model);
  fs::path older = write_by(3, folder.path(), test::sample_manifest(10, 2), pieces.list);
  std::unique_ptr<CheckpointTransaction> unfinished;
};

TEST_CASE("a part that is missing keeps the checkpoint from being committed") {
  Uncommitted u;
  fs::remove(u.in("part-00001.json"));
  const std::string path = u.in("part-00001.json").string();
  const std::string message = u.commit_error();
  CHECK(contains(message, path));
  CHECK(contains(message, "does not see"));
}

TEST_CASE("a part of another step, generation or writer keeps the checkpoint from being committed") {
  Uncommitted u;
  const std::string path = u.in("part-00001.json").string();
  SECTION("step") {
    write_shard(u.unfinished->path(), test::sample_manifest(19, 2), 1, u.pieces.list);
    CHECK(contains(
        u.commit_error(),
        path + " belongs to step 19, generation 2, writer 1; expected step 20, generation 2, writer 1"));
  }
  SECTION("generation") {
    write_shard(u.unfinished->path(), test::sample_manifest(20, 1), 1, u.pieces.list);
    CHECK(contains(
        u.commit_error(),
        path + " belongs to step 20, generation 1, writer 1; expected step 20, generation 2, writer 1"));
  }
  SECTION("writer") {
    fs::copy_file(u.in("part-00002.json"), u.in("part-00001.json"), fs::copy_options::overwrite_existing);
    CHECK(contains(
        u.commit_error(),
        path + " belongs to step 20, generation 2, writer 2; expected step 20, generation 2, writer 1"));
  }
}

TEST_CASE("a part that is torn or corrupt keeps the checkpoint from being committed") {
  const bool is_torn = GENERATE(true, false);
  Uncommitted u;
  const fs::path path = u.in("part-00002.json");
  const std::string good = read_file(path);
  std::string bad = good.substr(0, good.size() / 2);
  if (!is_torn) {
    bad = good;
    bad[good.find("\"offset\":") + 9] ^= 1;
  }
  test::write_text(path, bad);
  const std::string message = u.commit_error();
  CHECK(contains(message, path.string()));
  CHECK(contains(message, is_torn ? "not valid JSON" : "digest"));
}

TEST_CASE("a file of another size than its writer says keeps the checkpoint from being committed") {
  Uncommitted u;
  const fs::path path = u.in("rank-00001.h5");
  const auto size = fs::file_size(path);
  std::string expected;
  SECTION("shorter") {
    fs::resize_file(path, size - 1);
    expected = fmt::format("{} has {} bytes, expected {}", path.string(), size - 1, size);
  }
  SECTION("longer") {
    fs::resize_file(path, size + 1);
    expected = fmt::format("{} has {} bytes, expected {}", path.string(), size + 1, size);
  }
  SECTION("missing") {
    fs::remove(path);
    expected = path.string();
  }
  CHECK(contains(u.commit_error(), expected));
}

TEST_CASE("the final name is refused before anything is written, and when it was taken meanwhile") {
  const TempFolder folder;
  const Manifest header = test::sample_manifest();
  const Pieces pieces = test::model_pieces(header.model);
  CheckpointTransaction late(folder.path(), 10, 1);
  write_shard(late.path(), header, 0, pieces.list);
  const fs::path path = write_by(2, folder.path(), header, pieces.list);
  const std::string before = read_file(path / manifest_name);
  CHECK(contains(error_of(ErrorKind::input, [&] { late.commit(header, 1); }), "already exists"));
  CHECK(contains(error_of(ErrorKind::input, [&] { CheckpointTransaction(folder.path(), 10, 1); }),
                 path.string() + " already exists"));
  CHECK(read_file(path / manifest_name) == before);
  CHECK(verify_checkpoint(path).empty());
}

TEST_CASE("a checkpoint that is not committed leaves nothing") {
  Uncommitted u;
  CHECK(names_in(u.folder.path()).size() == 2);
  CHECK(u.unfinished->path().filename().string().starts_with(".step-00000020.g2.tmp-"));
  CHECK(u.unfinished->path().parent_path() == u.folder.path());
  u.unfinished.reset();
  CHECK(names_in(u.folder.path()) == std::set<std::string>{"step-00000010.g2"});
}

TEST_CASE("a folder or a part that is seen late is waited for") {
  const TempFolder folder;
  const Manifest header = test::sample_manifest();
  const Pieces pieces = test::model_pieces(header.model);
  CheckpointTransaction unfinished(folder.path(), 10, 1);
  const fs::path hidden = folder / "elsewhere";
  fs::rename(unfinished.path(), hidden);
  std::jthread network([&] {
    ::usleep(200'000);
    std::error_code ignored;  // a failure shows in the call that waits for it
    fs::rename(hidden, unfinished.path(), ignored);
  });
  write_shard(unfinished.path(), header, 0, pieces.list);
  network.join();
  for (const char* name : {"part-00000.json", "rank-00000.h5"}) {
    fs::rename(unfinished.path() / name, folder / name);
  }
  std::jthread again([&] {
    for (const char* name : {"part-00000.json", "rank-00000.h5"}) {
      ::usleep(200'000);
      std::error_code ignored;
      fs::rename(folder / name, unfinished.path() / name, ignored);
    }
  });
  std::string path;
  const std::string message =
      error_of(ErrorKind::environment, [&] { path = unfinished.commit(header, 1).string(); });
  again.join();
  CHECK(message == "");
  CHECK(verify_checkpoint(path).empty());
}

TEST_CASE("a folder that is never seen is an error that names host and path") {
  const TempFolder folder;
  const fs::path path = folder / ".step-00000010.g1.tmp-elsewhere-1";
  const double begin_s = monotonic_s();
  const std::string message = error_of(ErrorKind::environment, [&] {
    write_shard(path, test::sample_manifest(), 3, test::model_pieces(test::tiny_gpt2()).list, {}, 0.3);
  });
  CHECK(monotonic_s() - begin_s >= 0.3);
  CHECK(contains(message, host_name()));
  CHECK(contains(message, path.string()));
  CHECK(contains(message, "0.3 s"));
  CHECK(names_in(folder.path()).empty());
}

}  // namespace
}  // namespace dt::checkpoint
