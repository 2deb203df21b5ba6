#include "train/state_io.hpp"

#include <array>
#include <catch2/catch.hpp>

#include "checkpoint/share.hpp"
#include "comm/threads/thread_group.hpp"
#include "parallel/lanes.hpp"
#include "parallel/local_table.hpp"

using namespace dt;

namespace {

struct Written {
  std::string tensor, kind;
  Piece piece;
  bool operator==(const Written&) const = default;
};

/// By rank, what training saves.
std::vector<std::vector<Written>> saved(const model::ParameterTable& table, const model::Layout& layout) {
  std::vector<std::vector<Written>> all(static_cast<std::size_t>(layout.dp));
  comm::run_threads(layout.dp, [&](comm::Communicator& world) {
    const parallel::LanePlan lanes =
        parallel::LanePlan(layout.dp, layout.dp).of_rank(world.rank(), layout.dp);
    const parallel::Groups groups(layout, world);
    const parallel::LocalTable local(table, layout, layout.place_of(world.rank()));
    const parallel::ModelStorage storage(local, parallel::Precision{}, &lanes, groups);
    for (const checkpoint::SourcePiece& p : train::share_of_state(storage)) {
      all[static_cast<std::size_t>(world.rank())].push_back({p.tensor, p.kind, p.piece});
    }
    return 0;
  });
  return all;
}

}  // namespace

TEST_CASE("training saves the pieces that the layout says") {
  const model::Layout layout =
      GENERATE(model::Layout{1, 1, 1, 0, 0}, model::Layout{1, 3, 1, 0, 0}, model::Layout{1, 2, 1, 1, 0},
               model::Layout{1, 3, 1, 2, 0}, model::Layout{1, 4, 1, 3, 0}, model::Layout{1, 4, 1, 3, 2});
  model::ModelSpec spec = model::load_model_spec("llama-tiny");
  spec.tied = GENERATE(false, true);
  const model::ParameterTable table(spec);
  const std::array<const char*, 3> kinds = {checkpoint::kind_weights, checkpoint::kind_first_moment,
                                            checkpoint::kind_second_moment};
  const std::array<std::size_t, 3> kind_bytes = {4, 4, 4};
  const auto actual = saved(table, layout);
  for (int rank = 0; rank < layout.size(); ++rank) {
    std::vector<Written> expected;
    const parallel::LocalTable local(table, layout, layout.place_of(rank));
    for (const parallel::OwnedPiece& own : parallel::owned_pieces(local, kind_bytes)) {
      expected.push_back({local.name(own.param), kinds[static_cast<std::size_t>(own.kind)], own.piece});
    }
    CAPTURE(layout.dp, layout.zero, layout.zero_group, rank);
    CHECK(actual[static_cast<std::size_t>(rank)] == expected);
  }
}
