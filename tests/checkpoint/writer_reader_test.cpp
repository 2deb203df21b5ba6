#include <catch2/catch.hpp>
#include <random>

#include "base/hdf5/hdf5_file.hpp"
#include "base/numeric/digest.hpp"
#include "checkpoint/reader.hpp"
#include "checkpoint/sample.hpp"
#include "checkpoint/writer.hpp"
#include "support/hdf5_reference.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::checkpoint {
namespace {

using test::contains;
using test::error_of;
using test::global_index;
using test::Pieces;
using test::TempFolder;

/// Cuts each box of a grid into intervals, as tensor parallelism and ZeRO leave them on the ranks.
std::vector<Piece> cut(const Shape& global, const std::vector<std::int64_t>& parts, std::int64_t intervals) {
  std::vector<Piece> boxes = {Piece::whole(global)};
  for (int d = 0; d < global.rank(); ++d) {
    std::vector<Piece> next;
    const auto i = static_cast<std::size_t>(d);
    for (const Piece& box : boxes) {
      for (std::int64_t p = 0; p < parts[i]; ++p) {
        Piece part = box;
        std::vector<std::int64_t> dims = box.box.dims();
        part.start[i] = global[d] * p / parts[i];
        dims[i] = global[d] * (p + 1) / parts[i] - part.start[i];
        part.box = Shape(dims);
        part.end = part.box.numel();
        next.push_back(part);
      }
    }
    boxes = next;
  }
  std::vector<Piece> pieces;
  for (const Piece& box : boxes) {
    for (std::int64_t p = 0; p < intervals; ++p) {
      Piece part = box;
      part.begin = box.end * p / intervals;
      part.end = box.end * (p + 1) / intervals;
      pieces.push_back(part);
    }
  }
  return pieces;
}

Piece random_piece(const Shape& global, std::mt19937& random) {
  const auto draw = [&](std::int64_t limit) {
    return std::uniform_int_distribution<std::int64_t>(0, limit)(random);
  };
  Piece piece = Piece::whole(global);
  std::vector<std::int64_t> dims;
  for (int d = 0; d < global.rank(); ++d) {
    piece.start[static_cast<std::size_t>(d)] = draw(global[d] - 1);
    dims.push_back(1 + draw(global[d] - piece.start[static_cast<std::size_t>(d)] - 1));
  }
  piece.box = Shape(dims);
  piece.begin = draw(piece.box.numel());
  piece.end = piece.begin + draw(piece.box.numel() - piece.begin);
  return piece;
}

template <class T>
void check_read(const Reader& reader, const std::string& kind, const std::string& name, const Piece& wanted,
                double first) {
  std::vector<T> values(static_cast<std::size_t>(wanted.numel()) + 1, T{-1});
  reader.read(kind, name, wanted, host_tensor(values).flat(0, wanted.numel()));
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < wanted.numel(); ++i) {
    const T expected = static_cast<T>(first + static_cast<double>(global_index(wanted, i)));
    if (values[static_cast<std::size_t>(i)] != expected) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(values.back() == T{-1});
}

struct Layout {
  Shape global;
  std::vector<std::int64_t> parts;
  std::int64_t intervals;
};

TEST_CASE("what one layout wrote, any other layout reads, element by element") {
  const auto layout =
      GENERATE(Layout{{1}, {1}, 1}, Layout{{13}, {2}, 3}, Layout{{7, 5}, {1, 1}, 1},
               Layout{{7, 5}, {2, 1}, 1}, Layout{{7, 5}, {1, 3}, 2}, Layout{{7, 5}, {3, 2}, 4},
               Layout{{3, 4, 5}, {2, 3, 2}, 3}, Layout{{2, 1, 9}, {2, 1, 4}, 5});
  const auto dtype = GENERATE(DType::f32, DType::f64);
  const TempFolder folder;
  Pieces pieces;
  for (const Piece& piece : cut(layout.global, layout.parts, layout.intervals)) {
    pieces.add(kind_weights, "w", piece, dtype, 0.5);
    pieces.add(kind_second_moment, "w", piece, dtype, 1000);
  }
  const Reader reader(test::write_checkpoint(folder.path(), test::sample_manifest(), pieces.list));
  CHECK(reader.verify().empty());
  std::mt19937 random(17);
  for (int i = 0; i < 50; ++i) {
    const Piece wanted = random_piece(layout.global, random);
    check_read<float>(reader, kind_weights, "w", wanted, 0.5);
    check_read<double>(reader, kind_second_moment, "w", wanted, 1000);
  }
}

TEST_CASE("pieces of one tensor may lie in several files") {
  const TempFolder folder;
  const Manifest manifest = test::sample_manifest();
  std::vector<Pieces> ranks(3);
  const std::vector<Piece> cuts = cut({6, 5}, {1, 3}, 2);
  for (std::size_t i = 0; i < cuts.size(); ++i) ranks[i % 3].add(kind_weights, "w", cuts[i], DType::f32, 0);
  CheckpointTransaction unfinished(folder.path(), manifest.state.step, manifest.generation);
  for (int r = 0; r < 3; ++r)
    write_shard(unfinished.path(), manifest, r, ranks[static_cast<std::size_t>(r)].list);
  const Reader reader(unfinished.commit(manifest, 3));
  CHECK(reader.verify().empty());
  check_read<float>(reader, kind_weights, "w", Piece::whole({6, 5}), 0);
}

TEST_CASE("a tensor of several digest blocks is read across their borders and reported as it is written") {
  const TempFolder folder;
  const auto block = static_cast<std::int64_t>(digest_block_bytes / 8);
  const Shape shape{block / 1024 * 2 + 3, 1024};
  Pieces pieces;
  pieces.add(kind_weights, "big", Piece::whole(shape), DType::f64, 0);
  std::uint64_t written = 0;
  const fs::path path = test::write_checkpoint(folder.path(), test::sample_manifest(), pieces.list,
                                               [&](std::uint64_t bytes) { written += bytes; });
  CHECK(written == static_cast<std::uint64_t>(shape.numel()) * 8);
  const Reader reader(path);
  REQUIRE(reader.manifest().pieces[0].digests.size() == 3);
  for (const std::int64_t begin : {block - 3, 2 * block - 1, 2 * block, std::int64_t{5}}) {
    Piece wanted = Piece::whole(shape);
    wanted.begin = begin;
    wanted.end = begin + 1000;
    check_read<double>(reader, kind_weights, "big", wanted, 0);
  }
  check_read<double>(reader, kind_weights, "big", cut(shape, {1, 7}, 1)[3], 0);
  std::uint64_t checked = 0;
  CHECK(reader.verify([&](std::uint64_t bytes) { checked += bytes; }).empty());
  CHECK(checked == reader.manifest().files[0].bytes);
}

TEST_CASE("a read verifies the blocks that it touches, and only those") {
  const TempFolder folder;
  const auto block = static_cast<std::int64_t>(digest_block_bytes / 4);
  Pieces pieces;
  pieces.add(kind_weights, "big", Piece::whole({2 * block}), DType::f32, 0);
  const fs::path path = test::write_checkpoint(folder.path(), test::sample_manifest(), pieces.list);
  const StoredPiece stored = load_manifest(path).pieces[0];
  File file = File::open_write(path / stored.file);
  file.write_at(stored.offset + digest_block_bytes + 77, std::as_bytes(std::span("x", 1)));
  const Reader reader(path);
  std::vector<float> value(1);
  Piece wanted = Piece::whole({2 * block});
  wanted.begin = 5;
  wanted.end = 6;
  reader.read(kind_weights, "big", wanted, host_tensor(value));
  CHECK(value[0] == 5);
  wanted.begin = 2 * block - 1;
  wanted.end = 2 * block;
  const std::string message =
      error_of(ErrorKind::input, [&] { reader.read(kind_weights, "big", wanted, host_tensor(value)); });
  CHECK(contains(message, "rank-00000.h5"));
  CHECK(contains(message, "weights of big"));
}

TEST_CASE("files are HDF5 that other tools can read") {
  const TempFolder folder;
  Pieces pieces;
  pieces.add(kind_weights, "layers.0.mlp.up.weight", Piece::whole({2, 3}), DType::f32, 0);
  pieces.add(kind_first_moment, "half", cut({4, 3}, {2, 1}, 1)[1], DType::f64, 0);
  pieces.add(kind_first_moment, "half", cut({4, 3}, {2, 1}, 2)[0], DType::f64, 0);
  const fs::path path = test::write_checkpoint(folder.path(), test::sample_manifest(12, 3), pieces.list);
  const Hdf5Reader file(path / "rank-00000.h5");
  CHECK(file.read_all<float>("/weights/layers.0.mlp.up.weight") == std::vector<float>{0, 1, 2, 3, 4, 5});
  CHECK(file.info("/weights/layers.0.mlp.up.weight").shape == std::vector<std::uint64_t>{2, 3});
  CHECK(file.read_all<double>("/adam_m/half@0") == std::vector<double>{6, 7, 8, 9, 10, 11});
  CHECK(file.info("/adam_m/half@0").shape == std::vector<std::uint64_t>{2, 3});
  CHECK(file.info("/adam_m/half@1").shape == std::vector<std::uint64_t>{3});
  CHECK(file.string_attribute("/", "format") == "dt-checkpoint-pieces");
  CHECK(file.int_attribute("/", "version") == 1);
  CHECK(file.int_attribute("/", "step") == 12);
  CHECK(file.int_attribute("/", "generation") == 3);
  const Manifest manifest = load_manifest(path);
  for (const StoredPiece& piece : manifest.pieces) CHECK(file.info(piece.dataset).offset == piece.offset);
  CHECK(dt_test::hdf5_difference(path / "rank-00000.h5") == "");
}

TEST_CASE("equal states make equal files") {
  const TempFolder a;
  const TempFolder b;
  test::write_small(a.path());
  ::sleep(2);  // HDF5's times have a resolution of seconds
  test::write_small(b.path());
  CHECK(read_file(a / "step-00000010.g1/rank-00000.h5") == read_file(b / "step-00000010.g1/rank-00000.h5"));
}

TEST_CASE("empty pieces and a checkpoint without any are fine") {
  const TempFolder folder;
  Pieces pieces;
  Piece none = Piece::whole({4});
  none.end = 0;
  pieces.add(kind_weights, "w", none, DType::f32, 0);
  pieces.add(kind_weights, "w", Piece::whole({4}), DType::f32, 0);
  check_read<float>(Reader(test::write_checkpoint(folder.path(), test::sample_manifest(1), pieces.list)),
                    kind_weights, "w", Piece::whole({4}), 0);
  CHECK(Reader(test::write_checkpoint(folder.path(), test::sample_manifest(2), {})).verify().empty());
}

TEST_CASE("what cannot be read names file and tensor") {
  const TempFolder folder;
  Pieces pieces;
  std::vector<Piece> cuts = cut({4, 3}, {2, 1}, 2);
  for (const std::size_t i : {0, 1, 3}) pieces.add(kind_weights, "w", cuts[i], DType::f32, 0);
  const Reader reader(test::write_checkpoint(folder.path(), test::sample_manifest(), pieces.list));
  std::vector<float> values(12);
  const auto message = [&](const std::string& name, const Shape& shape) {
    return error_of(ErrorKind::input, [&] {
      reader.read(kind_weights, name, Piece::whole(shape),
                  Tensor(values.data(), DType::f32, shape, Device::host()));
    });
  };
  CHECK(contains(message("w", {4, 3}), "no stored piece holds element 6"));
  CHECK(contains(message("w", {3, 4}), "shape [4, 3]"));
  CHECK(contains(message("v", {4, 3}), "weights of v is not in the checkpoint"));
  CHECK(contains(message("v", {4, 3}), folder.path().string()));
  CHECK(reader.has(kind_weights, "w"));
  CHECK_FALSE(reader.has(kind_first_moment, "w"));
}

TEST_CASE("a checkpoint's name is never given to another") {
  const TempFolder folder;
  const fs::path path = test::write_small(folder.path());
  CHECK(path.filename() == "step-00000010.g1");
  const std::string before = read_file(path / "manifest.json");
  CHECK(contains(error_of(ErrorKind::input, [&] { test::write_small(folder.path()); }), "already exists"));
  CHECK(read_file(path / "manifest.json") == before);
}

}  // namespace
}  // namespace dt::checkpoint
