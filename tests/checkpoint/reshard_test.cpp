#include "checkpoint/reshard.hpp"

#include <array>
#include <catch2/catch.hpp>

#include "checkpoint/sample.hpp"
#include "convert/export.hpp"
#include "parallel/state/local_table.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::checkpoint {
namespace {

using model::Layout;
using test::TempFolder;

const std::vector<std::string> all_kinds = {kind_weights, kind_first_moment, kind_second_moment};

/// Layouts of 1 to 8 ranks with every ZeRO stage. Some slices are uneven, some are held by several ranks,
/// and one layout has a pipeline stage for each layer.
const std::vector<Layout> layouts = {{1, 1, 1, 0, 0}, {1, 2, 1, 0, 0}, {1, 4, 1, 1, 0}, {1, 3, 1, 2, 0},
                                     {1, 8, 1, 3, 0}, {1, 4, 1, 3, 2}, {1, 1, 2, 0, 0}, {1, 1, 8, 0, 0},
                                     {2, 1, 1, 0, 0}, {2, 2, 2, 1, 0}, {3, 1, 2, 0, 0}, {1, 2, 3, 3, 0}};

/// Returns a tied model with fewer key-value heads than some layouts have tensor-parallel ranks. Its ZeRO
/// parts are larger than a granule.
model::ModelSpec small_spec() {
  model::ModelSpec s = model::load_model_spec("llama-tiny");
  s.vocabulary = 211;
  s.layers = 3;
  s.hidden = 48;
  s.query_heads = 6;
  s.key_value_heads = 2;
  s.head_dim = 8;
  s.mlp_hidden = 70;
  s.tied = true;
  return s;
}

std::vector<PieceSpec> specs_of(const model::ParameterTable& table, const Layout& layout, int rank) {
  const std::array<std::size_t, 3> kind_bytes = {4, 4, 4};
  std::vector<PieceSpec> specs;
  const parallel::LocalTable local(table, layout, layout.coordinates_of(rank));
  for (const parallel::OwnedPiece& own : parallel::owned_pieces(local, kind_bytes)) {
    specs.push_back(
        {local.name(own.param), all_kinds[static_cast<std::size_t>(own.kind)], own.piece, DType::f32});
  }
  return specs;
}

fs::path resharded(const Reader& source, const fs::path& out, const Layout& layout, bool overwrite = false,
                   std::size_t max_files_with_list = default_max_files_with_list) {
  const model::ParameterTable table(source.manifest().model);
  reshard(source, {.out = out,
                   .overwrite = overwrite,
                   .mesh = layout,
                   .num_writers = layout.size(),
                   .pieces = [&](int rank) { return specs_of(table, layout, rank); },
                   .max_files_with_list = max_files_with_list});
  return out;
}

/// Returns every byte of the state, read whole through the Reader.
std::string state_of(const Reader& reader) {
  std::string state;
  const model::ParameterTable table(reader.manifest().model);
  for (const std::string& kind : all_kinds) {
    for (const model::ParamSpec& param : table.params()) {
      std::string bytes(static_cast<std::size_t>(param.shape.numel()) * 4, '\0');
      reader.read(kind, param.name, Piece::whole(param.shape),
                  Tensor(bytes.data(), DType::f32, param.shape, Device::host()));
      state += bytes;
    }
  }
  return state;
}

std::string merged(const Reader& reader, const fs::path& file) {
  convert::export_h5(convert::ExportSource(reader.path()), file, {.overwrite = true});
  return read_file(file);
}

fs::path write_source(const fs::path& folder, const model::ModelSpec& spec, const std::string& parent = "") {
  Manifest manifest = test::sample_manifest();
  manifest.model = spec;
  manifest.parent = parent;
  return test::write_checkpoint(folder, manifest, test::model_pieces(spec, DType::f32, all_kinds).list);
}

TEST_CASE("of 12 layouts, each made into each is the same state to the byte") {
  // The test syncs thousands of times, which costs nothing in memory.
  const TempFolder folder(fs::is_directory("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path());
  const Reader original(write_source(folder / "a", small_spec()));
  const std::string state = state_of(original);
  const std::string model = merged(original, folder / "model.h5");
  for (const Layout& from : layouts) {
    const Reader first(resharded(original, folder / "from", from, true, 2));  // an index for more files
    for (const Layout& to : layouts) {
      CAPTURE(from.pp, from.dp, from.tp, from.zero, to.pp, to.dp, to.tp, to.zero);
      const Reader second(resharded(first, folder / "to", to, true));
      CHECK(second.manifest().mesh == to);
      CHECK(state_of(second) == state);
      if (&from == &layouts[0]) CHECK(merged(second, folder / "model.h5") == model);
      CHECK(second.verify().empty());
    }
  }
}

TEST_CASE(
    "a resharded checkpoint has the pieces of its layout, in a file for each rank, and the same header") {
  const TempFolder folder;
  const Reader source(write_source(folder / "a", small_spec(), "step-00000005.g0"));
  const Layout layout{2, 1, 2, 0, 0};
  const Manifest m = Reader(resharded(source, folder / "b", layout)).manifest();
  REQUIRE(m.files.size() == 4);
  const model::ParameterTable table(source.manifest().model);
  std::vector<Piece> expected, actual;
  for (int rank = 0; rank < 4; ++rank) {
    for (const PieceSpec& spec : specs_of(table, layout, rank)) expected.push_back(spec.piece);
  }
  for (const StoredPiece& piece : m.pieces) actual.push_back(piece.piece);
  CHECK(actual == expected);
  CHECK(to_json(m.state) == to_json(source.manifest().state));
  CHECK(m.generation == source.manifest().generation);
}

TEST_CASE("the parent's name is kept only beside the source") {
  const TempFolder folder;
  const Reader source(write_source(folder / "a", small_spec(), "step-00000005.g0"));
  CHECK(Reader(resharded(source, folder / "a" / "wide", layouts[1])).manifest().parent == "step-00000005.g0");
  CHECK(Reader(resharded(source, folder / "b", layouts[1])).manifest().parent.empty());
}

TEST_CASE("a name that says another step or generation is refused") {
  const TempFolder folder;
  const Reader source(write_source(folder / "a", small_spec()));
  const auto message = [&](const char* name) {
    return test::error_of(ErrorKind::input, [&] { resharded(source, folder / name, layouts[0]); });
  };
  CHECK(test::contains(message("step-00000011.g1"), "step-00000011.g1 means step 11, generation 1"));
  CHECK(test::contains(message("step-00000010.g2"), "generation 2"));
  CHECK(message("step-00000010.g1").empty());
}

TEST_CASE("what is there is replaced only where that is asked for and it is a checkpoint") {
  const TempFolder folder;
  const fs::path path = write_source(folder / "a", small_spec());
  const std::string state = state_of(Reader(path));
  CHECK(test::contains(test::error_of(ErrorKind::input, [&] { resharded(Reader(path), path, layouts[1]); }),
                       "already exists"));
  fs::create_directory(folder / "other");
  CHECK(test::contains(
      test::error_of(ErrorKind::input, [&] { resharded(Reader(path), folder / "other", layouts[1], true); }),
      "is not a checkpoint"));
  // The target may be the checkpoint's own place.
  const Reader again(resharded(Reader(path), path, layouts[4], true));
  CHECK(again.manifest().mesh == layouts[4]);
  CHECK(state_of(again) == state);
}

TEST_CASE("a damaged source leaves nothing behind") {
  const TempFolder folder;
  const fs::path path = write_source(folder / "a", small_spec());
  const Reader source(path);
  const StoredPiece& last = source.manifest().pieces.back();
  File file = File::open_write(path / last.file);
  file.write_at(last.offset, std::as_bytes(std::span("x", 1)));
  file.close();
  CHECK(test::contains(
      test::error_of(ErrorKind::input, [&] { resharded(source, folder / "b" / "c", layouts[2]); }),
      "digest"));
  CHECK(fs::is_empty(folder / "b"));
}

TEST_CASE("a rank reads the blocks that it needs, each once") {
  const TempFolder folder;
  const model::ModelSpec spec = small_spec();
  const fs::path path = write_source(folder / "a", spec);
  const model::ParameterTable table(spec);
  for (const Layout& layout : layouts) {
    for (int rank = 0; rank < layout.size(); ++rank) {
      const Reader reader(path);
      std::uint64_t touched = 0;  // tensors are smaller than a block
      for (const PieceSpec& want : specs_of(table, layout, rank)) {
        std::vector<float> values(static_cast<std::size_t>(want.piece.numel()));
        // Reads in two requests, as a caller does that reads piece by piece.
        Piece half = want.piece;
        half.end = half.begin + half.numel() / 2;
        reader.read(want.kind, want.tensor, half,
                    Tensor(values.data(), DType::f32, Shape{half.numel()}, Device::host()));
        Piece rest = want.piece;
        rest.begin = half.end;
        reader.read(want.kind, want.tensor, rest,
                    Tensor(values.data(), DType::f32, Shape{rest.numel()}, Device::host()));
        touched += 4 * static_cast<std::uint64_t>(want.piece.global.numel());
      }
      CHECK(reader.bytes_read() == touched);
    }
  }
}

TEST_CASE("rows of slices side by side are read once") {
  // A matrix of 48 MiB in 8 slices, each smaller than a block; rows ask for all slices in turn.
  constexpr std::int64_t rows = 96, columns = 1 << 17;
  const TempFolder folder;
  std::vector<float> values(static_cast<std::size_t>(rows * columns));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 9973);
  std::vector<std::vector<float>> memory;
  std::vector<SourcePiece> pieces;
  for (std::int64_t s = 0; s < 8; ++s) {
    const std::int64_t width = columns / 8;
    std::vector<float>& slice = memory.emplace_back();
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto begin = values.begin() + r * columns + s * width;
      slice.insert(slice.end(), begin, begin + width);
    }
    pieces.push_back({"a",
                      kind_weights,
                      {{rows, columns}, {0, s * width}, {rows, width}, 0, rows * width},
                      host_tensor(slice)});
  }
  const fs::path saved = test::write_checkpoint(folder.path(), test::sample_manifest(), pieces);
  std::vector<float> row(columns);
  const auto check_row = [&](const Reader& reader, std::int64_t r) {
    Piece wanted = Piece::whole({rows, columns});
    wanted.begin = r * columns;
    wanted.end = wanted.begin + columns;
    reader.read(kind_weights, "a", wanted, host_tensor(row));
    REQUIRE(std::equal(row.begin(), row.end(), values.begin() + r * columns));
  };
  const Reader reader(saved);
  for (std::int64_t r = 0; r < rows; ++r) check_row(reader, r);
  CHECK(reader.bytes_read() == values.size() * 4);
  const Reader forgetful(saved, 0);
  for (std::int64_t r = 0; r < 2; ++r) check_row(forgetful, r);
  CHECK(forgetful.bytes_read() == 2 * values.size() * 4);
}

}  // namespace
}  // namespace dt::checkpoint
