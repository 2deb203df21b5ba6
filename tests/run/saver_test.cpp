#include "run/save/saver.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "checkpoint/sample.hpp"
#include "comm/threads/thread_group.hpp"

using namespace dt;
using namespace dt::run;

namespace {

/// A save target with a folder and nothing else.
class Nowhere : public SaveTarget {
 public:
  fs::path begin(const checkpoint::Manifest&) override {
    fs::create_directory(folder_ / "unfinished");
    return folder_ / "unfinished";
  }
  void finish_shard(const std::function<void()>&) override {
    if (shard_fails) throw Error(ErrorKind::environment, "the shard is not on disk");
  }
  void check_run_in_place() const override {
    if (is_moved) throw Error(ErrorKind::environment, "the run was moved");
  }
  int num_committers() const override { return 1; }
  bool is_committer() const override { return true; }
  bool keeps_writer_manifests(int) const override { return true; }
  void commit(SavedCheckpoint&, int, const checkpoint::WrittenPieces&) override {}
  void end(bool is_announced) override { was_announced = is_announced; }

  bool was_announced = true, shard_fails = false, is_moved = false;

 private:
  dt_test::Folder folder_;
};

}  // namespace

TEST_CASE("a copy that fails does not block changes of the state, and fails the save") {
  checkpoint::test::Pieces state;
  for (const char* tensor : {"a", "b"})
    state.add(checkpoint::kind_weights, tensor, Piece::whole({10}), DType::f32, 0);
  const std::vector<checkpoint::PieceSpec> expected = {
      {"a", checkpoint::kind_weights, Piece::whole({10}), DType::f32}};
  // The state has more pieces than the memory for its copy.
  const Context context(1, Device::host());
  const StateShards shards{[&] { return state.list; }, [&](int) { return expected; }, context};
  comm::run_alone([&](comm::Communicator& world) {
    Console console(
        {.tool = "test", .json = false, .quiet = true, .verbose = false, .progress = ProgressMode::never});
    const comm::Ranks ranks{world, console, [](const Error&) {}, false};
    Nowhere target;
    {
      Saver saver(ranks, shards, true, std::nullopt);
      saver.begin(target, checkpoint::test::sample_manifest(), true);
      saver.wait_until_copied();
      CHECK_THROWS_AS(saver.finish(), Error);
    }
    CHECK_FALSE(target.was_announced);
    return 0;
  });
}

TEST_CASE("a rank's write that failed since the run was moved is told so by the rank that holds the run") {
  checkpoint::test::Pieces state;
  state.add(checkpoint::kind_weights, "a", Piece::whole({10}), DType::f32, 0);
  const bool is_moved = GENERATE(false, true);
  comm::run_threads(2, [&](comm::Communicator& world) {
    const Context context(1, Device::host());
    const StateShards shards{[&] { return state.list; },
                             [](int) { return std::vector<checkpoint::PieceSpec>(); }, context};
    Console console(
        {.tool = "test", .json = false, .quiet = true, .verbose = false, .progress = ProgressMode::never});
    const comm::Ranks ranks{world, console, [](const Error&) {}, world.rank() == 0};
    Nowhere target;
    target.shard_fails = world.rank() == 1;
    target.is_moved = is_moved && world.rank() == 0;
    Saver saver(ranks, shards, false, std::nullopt);
    saver.begin(target, checkpoint::test::sample_manifest(), false);
    const std::string told = checkpoint::test::error_of(ErrorKind::environment, [&] { saver.finish(); });
    CHECK(checkpoint::test::contains(told, is_moved ? "the run was moved" : "the shard is not on disk"));
    return 0;
  });
}
