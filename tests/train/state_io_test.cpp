#include "train/start/state_io.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "comm/threads/thread_group.hpp"
#include "parallel/state/gradient_lanes.hpp"
#include "parallel/state/local_table.hpp"

using namespace dt;

namespace {

struct Written {
  std::string tensor, kind;
  Piece piece;
  bool operator==(const Written&) const = default;
};

/// Returns what training saves, by rank.
std::vector<std::vector<Written>> saved(const model::ParameterTable& table, const model::Layout& layout) {
  std::vector<std::vector<Written>> all(static_cast<std::size_t>(layout.dp));
  comm::run_threads(layout.dp, [&](comm::Communicator& world) {
    const parallel::LanePlan lanes =
        parallel::LanePlan(layout.dp, layout.dp).of_rank(world.rank(), layout.dp);
    const parallel::Groups groups(layout, world);
    const parallel::LocalTable local(table, layout, layout.coordinates_of(world.rank()));
    const parallel::ModelStorage storage(Device::host(), local, parallel::Precision{}, &lanes, groups,
                                         {"adam_m", "adam_v"});
    for (const checkpoint::SourcePiece& p : train::state_pieces(storage)) {
      all[static_cast<std::size_t>(world.rank())].push_back({p.tensor, p.kind, p.piece});
    }
    return 0;
  });
  return all;
}

/// Sets masters and moments that differ from element to element, rank to rank and save to save.
void fill(const parallel::ModelStorage& storage, float value) {
  for (int group = 0; group < storage.num_groups(); ++group) {
    std::vector<Tensor> parts = storage.group_states(group);
    parts.push_back(storage.group_masters(group));
    for (const Tensor& part : parts) {
      for (float& element : part.span<float>()) element = value++;
    }
  }
}

bool same(const checkpoint::SourcePiece& a, const checkpoint::SourcePiece& b) {
  return a.tensor == b.tensor && a.kind == b.kind && a.piece == b.piece &&
         std::ranges::equal(a.data.span<float>(), b.data.span<float>());
}

struct Saving {
  int zero, zero_group, ranks;
  std::int64_t writers;
  bool in_background;
};

/// Saves twice on a rank. `expected` gets what each rank has saved. Returns 0 if the writers got
/// the shards of their groups.
int save_twice(comm::Communicator& world, const Saving& c, const model::ParameterTable& table,
               std::vector<std::vector<checkpoint::SourcePiece>>& expected) {
  const parallel::LanePlan lanes = parallel::LanePlan(c.ranks, c.ranks).of_rank(world.rank(), c.ranks);
  const model::Layout layout{.dp = c.ranks, .zero = c.zero, .zero_group = c.zero_group};
  const parallel::Groups groups(layout, world);
  const parallel::LocalTable local(table, layout, layout.coordinates_of(world.rank()));
  const Context context(1, Device::host());
  const parallel::ModelStorage storage(Device::host(), local, parallel::Precision{}, &lanes, groups,
                                       {"adam_m", "adam_v"});
  run::AggregationGroup group(world, train::pieces_of_ranks(context, storage), c.writers, c.in_background);
  bool good = group.num_files() == std::min<std::int64_t>(c.writers, c.ranks);
  for (const int save : {1, 2}) {
    fill(storage, static_cast<float>(1000 * world.rank() + save));
    expected[static_cast<std::size_t>(world.rank())] = train::state_pieces(storage);
    world.barrier().wait_host();
    std::vector<checkpoint::SourcePiece> pieces = train::state_pieces(storage);
    if (c.in_background || !group.writes()) group.copy(pieces);
    if (group.writes()) {
      group.append_members(pieces, [] {});
      std::vector<checkpoint::SourcePiece> wanted;
      for (int rank = 0; rank < c.ranks; ++rank) {
        const auto& theirs = expected[static_cast<std::size_t>(rank)];
        const std::vector<std::string> hosts(static_cast<std::size_t>(c.ranks), "a");
        if (run::assign_files(hosts, c.writers)[static_cast<std::size_t>(rank)] == group.file())
          wanted.insert(wanted.end(), theirs.begin(), theirs.end());
      }
      good = good && std::ranges::equal(pieces, wanted, same);
    }
    world.barrier().wait_host();
  }
  return good ? 0 : 1;
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
    const parallel::LocalTable local(table, layout, layout.coordinates_of(rank));
    for (const parallel::OwnedPiece& own : parallel::owned_pieces(local, kind_bytes)) {
      expected.push_back({local.name(own.param), kinds[static_cast<std::size_t>(own.kind)], own.piece});
    }
    CAPTURE(layout.dp, layout.zero, layout.zero_group, rank);
    CHECK(actual[static_cast<std::size_t>(rank)] == expected);
  }
}

TEST_CASE("the rank that writes is handed the shares of its group, at every save") {
  const Saving c = GENERATE(Saving{0, 0, 4, 1, true}, Saving{0, 0, 4, 1, false}, Saving{0, 0, 5, 2, true},
                            Saving{1, 4, 4, 2, true}, Saving{3, 2, 4, 3, false}, Saving{2, 3, 3, 9, true});
  const model::ParameterTable table(model::load_model_spec("llama-tiny"));
  std::vector<std::vector<checkpoint::SourcePiece>> expected(static_cast<std::size_t>(c.ranks));
  CAPTURE(c.zero, c.ranks, c.writers, c.in_background);
  CHECK(comm::run_threads(
            c.ranks, [&](comm::Communicator& world) { return save_twice(world, c, table, expected); }) == 0);
}
