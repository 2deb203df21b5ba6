#include "train/writing_group.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "comm/threads/thread_group.hpp"
#include "train/state_io.hpp"

using namespace dt;
using namespace dt::train;

namespace {

using Hosts = std::vector<std::string>;

/// Masters and moments that differ from element to element, rank to rank and save to save.
void fill(const parallel::ModelStorage& storage, float value) {
  for (int group = 0; group < storage.num_groups(); ++group) {
    for (const Tensor& part : {storage.group_masters(group), storage.group_first_moment(group),
                               storage.group_second_moment(group)}) {
      for (float& element : part.span<float>()) element = value++;
    }
  }
}

bool same(const checkpoint::SourcePiece& a, const checkpoint::SourcePiece& b) {
  return a.tensor == b.tensor && a.kind == b.kind && a.piece == b.piece &&
         std::ranges::equal(a.data.span<float>(), b.data.span<float>());
}

struct Case {
  int zero, zero_group, ranks;
  std::int64_t writers;
  bool in_background;
};

/// What a rank does in two saves; `expected` is what each rank has saved.
int save_twice(comm::Communicator& world, const Case& c, const model::ParameterTable& table,
               std::vector<std::vector<checkpoint::SourcePiece>>& expected) {
  const parallel::LanePlan lanes = parallel::LanePlan(c.ranks, c.ranks).of_rank(world.rank(), c.ranks);
  const model::Layout layout{.dp = c.ranks, .zero = c.zero, .zero_group = c.zero_group};
  const parallel::Groups groups(layout, world);
  const parallel::LocalTable local(table, layout, layout.place_of(world.rank()));
  const parallel::ModelStorage storage(local, parallel::Precision{}, &lanes, groups);
  WritingGroup group(world, storage, c.writers, c.in_background);
  bool good = group.num_files() == std::min<std::int64_t>(c.writers, c.ranks);
  for (const int save : {1, 2}) {
    fill(storage, static_cast<float>(1000 * world.rank() + save));
    expected[static_cast<std::size_t>(world.rank())] = share_of_state(storage);
    world.barrier().wait();
    std::vector<checkpoint::SourcePiece> pieces = share_of_state(storage);
    if (c.in_background || !group.writes()) group.copy(pieces);
    if (group.writes()) {
      group.collect(pieces, [] {});
      std::vector<checkpoint::SourcePiece> wanted;
      for (int rank = 0; rank < c.ranks; ++rank) {
        const auto& theirs = expected[static_cast<std::size_t>(rank)];
        const std::vector<std::string> hosts(static_cast<std::size_t>(c.ranks), "a");
        if (files_of(hosts, c.writers)[static_cast<std::size_t>(rank)] == group.file())
          wanted.insert(wanted.end(), theirs.begin(), theirs.end());
      }
      good = good && std::ranges::equal(pieces, wanted, same);
    }
    world.barrier().wait();
  }
  return good ? 0 : 1;
}

}  // namespace

TEST_CASE("the ranks of each host form groups of equal size, numbered by their first ranks") {
  CHECK(files_of(Hosts{"a", "a", "a", "a"}, 1) == std::vector{0, 0, 0, 0});
  CHECK(files_of(Hosts{"a", "a", "a", "a"}, 2) == std::vector{0, 0, 1, 1});
  CHECK(files_of(Hosts{"a", "a", "a", "a", "a"}, 2) == std::vector{0, 0, 1, 1, 1});
  CHECK(files_of(Hosts{"a", "a", "a"}, 9) == std::vector{0, 1, 2});
  CHECK(files_of(Hosts{"a", "a", "b", "b"}, 1) == std::vector{0, 0, 1, 1});
  CHECK(files_of(Hosts{"b", "a", "b", "a"}, 1) == std::vector{0, 1, 0, 1});
  CHECK(files_of(Hosts{"a", "b", "b", "b", "b"}, 2) == std::vector{0, 1, 1, 2, 2});
}

TEST_CASE("the rank that writes is handed the shares of its group, at every save") {
  const Case c = GENERATE(Case{0, 0, 4, 1, true}, Case{0, 0, 4, 1, false}, Case{0, 0, 5, 2, true},
                          Case{1, 4, 4, 2, true}, Case{3, 2, 4, 3, false}, Case{2, 3, 3, 9, true});
  const model::ParameterTable table(model::load_model_spec("llama-tiny"));
  std::vector<std::vector<checkpoint::SourcePiece>> expected(static_cast<std::size_t>(c.ranks));
  CAPTURE(c.zero, c.ranks, c.writers, c.in_background);
  CHECK(comm::run_threads(
            c.ranks, [&](comm::Communicator& world) { return save_twice(world, c, table, expected); }) == 0);
}

TEST_CASE("who waits for a share that never comes can give up") {
  const model::ParameterTable table(model::load_model_spec("llama-tiny"));
  struct GivenUp {};
  const int given_up = comm::run_threads(2, [&](comm::Communicator& world) {
    const parallel::LanePlan lanes = parallel::LanePlan(2, 2).of_rank(world.rank(), 2);
    const model::Layout layout{.dp = 2};
    const parallel::Groups groups(layout, world);
    const parallel::LocalTable local(table, layout, layout.place_of(world.rank()));
    const parallel::ModelStorage storage(local, parallel::Precision{}, &lanes, groups);
    WritingGroup group(world, storage, 1, false);
    if (!group.writes()) return 0;
    std::vector<checkpoint::SourcePiece> pieces = share_of_state(storage);
    try {
      group.collect(pieces, [] { throw GivenUp(); });
    } catch (const GivenUp&) {
      return 1;
    }
    return 0;
  });
  CHECK(given_up == 1);
}
