#include "train/saver.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "checkpoint/sample.hpp"
#include "comm/threads/thread_group.hpp"

using namespace dt;
using namespace dt::train;

namespace {

/// A folder, and nothing more.
class Nowhere : public SaveTarget {
 public:
  fs::path begin(const checkpoint::Manifest&) override { return folder_ / "unfinished"; }
  void finish_part(const std::function<void()>&) override {}
  int num_committers() const override { return 1; }
  bool is_committer() const override { return true; }
  void commit(SavedCheckpoint&, int) override {}
  void end(bool is_announced) override { was_announced = is_announced; }

  bool was_announced = true;

 private:
  dt_test::Folder folder_;
};

model::ParameterTable table_of(std::int64_t layers) {
  model::ModelSpec spec = checkpoint::test::tiny_gpt2();
  spec.layers = layers;
  return model::ParameterTable(spec);
}

}  // namespace

TEST_CASE("a copy that fails keeps nobody from changing the state, and fails the save") {
  const model::ParameterTable small = table_of(1), large = table_of(2);
  const parallel::LocalTable few(small, {}, {}), many(large, {}, {});
  const parallel::Groups alone;
  const parallel::LanePlan lanes(1, 1);
  comm::run_alone([&](comm::Communicator& world) {
    Console console(
        {.tool = "test", .json = false, .quiet = true, .verbose = false, .progress = ProgressMode::never});
    const comm::Ranks ranks{world, console, [](const Error&) {}, false};
    std::optional<parallel::ModelStorage> storage(std::in_place, few, parallel::Precision{}, &lanes, alone);
    Nowhere target;
    {
      Saver saver(ranks, *storage, true, std::nullopt);
      storage.emplace(many, parallel::Precision{}, &lanes,
                      alone);  // more than there is memory to copy it into
      saver.begin(target, checkpoint::test::sample_manifest(), true);
      saver.let_change();
      CHECK_THROWS_AS(saver.finish(), Error);
    }
    CHECK_FALSE(target.was_announced);
    return 0;
  });
}
