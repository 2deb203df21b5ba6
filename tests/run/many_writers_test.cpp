// Saves of more writers than leave descriptions beside their files: rank 0 gets these by messages.

#include <catch2/catch.hpp>

#include "checkpoint/compare.hpp"
#include "checkpoint/sample.hpp"
#include "comm/threads/thread_group.hpp"
#include "run/gather_written.hpp"
#include "run/save/saver.hpp"
#include "run/save/shared_target.hpp"

namespace dt::run {
namespace {

using checkpoint::SourcePiece;

TEST_CASE("what ranks wrote comes to rank 0 in the order of ranks, however many there are") {
  for (const int size : {1, 2, 3, 5, 8}) {
    CAPTURE(size);
    comm::run_threads(size, [&](comm::Communicator& world) {
      checkpoint::WrittenPieces written;
      const std::string file = checkpoint::piece_file_name(world.rank());
      Piece piece = Piece::whole({100});
      piece.begin = 10 * world.rank();
      piece.end = piece.begin + 10;
      if (world.rank() != 1)  // this rank had nothing to write
        written.add({10,
                     1,
                     world.rank(),
                     {{file, 40, 7}},
                     {{"w", checkpoint::kind_weights, DType::f32, piece, file, "/weights/w@0", {9}, 0}}});
      gather_written(world, written);
      if (world.rank() != 0) return 0;
      const std::vector<checkpoint::StoredPiece> list = written.list();
      REQUIRE(list.size() == static_cast<std::size_t>(size > 1 ? size - 1 : 1));
      for (std::size_t i = 0; i < list.size(); ++i) {
        const int rank = static_cast<int>(i == 0 ? 0 : i + 1);
        CHECK(list[i].file == checkpoint::piece_file_name(rank));
        CHECK(list[i].piece.begin == 10 * rank);
        CHECK(written.files()[i].name == list[i].file);
      }
      return 0;
    });
  }
}

TEST_CASE(
    "a save of many writers has an index of pieces, and leaves nothing but it, the manifest and files") {
  constexpr int size = 3;
  const dt_test::Folder folder;
  const RunDirectory run(folder / "run");
  run.create();
  const Generation own = run.claim("", 0);
  checkpoint::Manifest header = checkpoint::test::sample_manifest(10, own.number);
  const checkpoint::test::Pieces pieces = checkpoint::test::model_pieces(header.model);
  const fs::path path = run.checkpoints_path() / checkpoint::checkpoint_name(10, own.number);
  const std::size_t max_files_with_list = GENERATE(2, 3);
  comm::run_threads(size, [&](comm::Communicator& world) {
    Console console(
        {.tool = "test", .json = false, .quiet = true, .verbose = false, .progress = ProgressMode::never});
    const comm::Ranks ranks{world, console, [](const Error&) {}, false};
    const auto share = [&](int rank) { return checkpoint::test::share_of(pieces.list, rank, size); };
    const Context context(1, Device::host());
    const StateShards shards{[&] { return share(world.rank()); },
                             [&](int rank) {
                               std::vector<checkpoint::PieceSpec> specs;
                               for (const SourcePiece& p : share(rank))
                                 specs.push_back({p.tensor, p.kind, p.piece, p.data.dtype()});
                               return specs;
                             },
                             context};
    SharedTarget target(ranks, run, own, {}, nullptr, max_files_with_list);
    Saver saver(ranks, shards, false, std::nullopt);
    for (const std::int64_t step : {std::int64_t{10}, std::int64_t{20}}) {
      checkpoint::Manifest manifest = header;
      manifest.state.step = step;
      saver.begin(target, manifest, false);
      const SavedCheckpoint saved = saver.finish();
      if (world.rank() == 0) CHECK(saved.bytes > 0);
    }
    return 0;
  });
  const checkpoint::Reader reader(path);
  CHECK(reader.verify().empty());
  CHECK(reader.manifest().index.has_value() == (max_files_with_list < size));
  CHECK(reader.manifest().files.size() == size);
  CHECK(std::distance(fs::directory_iterator(path), fs::directory_iterator()) ==
        size + 1 + (reader.manifest().index ? 1 : 0));
  const checkpoint::Reader expected(
      checkpoint::test::write_checkpoint(folder / "expected", header, pieces.list));
  checkpoint::compare(expected, reader, [](const checkpoint::TensorComparison& c) {
    CHECK(c.outcome == checkpoint::TensorComparison::Outcome::equal);
  });
}

}  // namespace
}  // namespace dt::run
