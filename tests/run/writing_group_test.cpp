#include "run/save/writing_group.hpp"

#include <catch2/catch.hpp>

#include "comm/threads/thread_group.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;
using namespace dt::run;

namespace {

using Hosts = std::vector<std::string>;

}  // namespace

TEST_CASE("the ranks of each host form groups of equal size, numbered by their first ranks") {
  CHECK(assign_files(Hosts{"a", "a", "a", "a"}, 1) == std::vector{0, 0, 0, 0});
  CHECK(assign_files(Hosts{"a", "a", "a", "a"}, 2) == std::vector{0, 0, 1, 1});
  CHECK(assign_files(Hosts{"a", "a", "a", "a", "a"}, 2) == std::vector{0, 0, 1, 1, 1});
  CHECK(assign_files(Hosts{"a", "a", "a"}, 9) == std::vector{0, 1, 2});
  CHECK(assign_files(Hosts{"a", "a", "b", "b"}, 1) == std::vector{0, 0, 1, 1});
  CHECK(assign_files(Hosts{"b", "a", "b", "a"}, 1) == std::vector{0, 1, 0, 1});
  CHECK(assign_files(Hosts{"a", "b", "b", "b", "b"}, 2) == std::vector{0, 1, 1, 2, 2});
}

TEST_CASE("a wait for a share that never comes can be given up") {
  std::vector<float> memory(6);
  const Piece piece = Piece::whole({6});
  const Context context(1, Device::host());
  const StateShards shards{
      [&] {
        return std::vector{
            checkpoint::SourcePiece{"a", checkpoint::kind_weights, piece, host_tensor(memory)}};
      },
      [&](int) {
        return std::vector{checkpoint::PieceSpec{"a", checkpoint::kind_weights, piece, DType::f32}};
      },
      context};
  struct GivenUp {};
  const int given_up = comm::run_threads(2, [&](comm::Communicator& world) {
    AggregationGroup group(world, shards, 1, false);
    if (!group.writes()) return 0;
    std::vector<checkpoint::SourcePiece> pieces = shards.own();
    try {
      group.append_members(pieces, [] { throw GivenUp(); });
    } catch (const GivenUp&) {
      return 1;
    }
    return 0;
  });
  CHECK(given_up == 1);
}
