#include "run/save/writing_group.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "comm/threads/thread_group.hpp"
#include "device/test_device.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;
using namespace dt::run;

namespace {

constexpr std::int64_t num_values = 6;
using Values = std::array<float, num_values>;

/// Returns values on the device, all equal.
Buffer filled(Device device, float value) {
  Buffer values(Device::host(), sizeof(Values));
  std::ranges::fill(Tensor(values, DType::f32, {num_values}).span<float>(), value);
  return to_device(device, std::move(values));
}

}  // namespace

TEST_CASE("a share that another rank writes is copied from its device into pinned memory", "[test-device]") {
  const test_device::Use device(1);
  const Piece piece = Piece::whole({num_values});
  std::array<Values, 2> written{};
  std::int64_t num_unpinned = -1, memory_calls = -1;
  comm::run_threads(2, [&](comm::Communicator& world) {
    const Context context(1, Device::gpu(world.rank()));
    const Buffer memory = filled(context.device(), static_cast<float>(world.rank() + 1));
    const StateShards shares{
        [&] {
          return std::vector{checkpoint::SourcePiece{"a", checkpoint::kind_weights, piece,
                                                     Tensor(memory, DType::f32, {num_values})}};
        },
        [&](int) {
          return std::vector{checkpoint::PieceSpec{"a", checkpoint::kind_weights, piece, DType::f32}};
        },
        context};
    AggregationGroup group(world, shares, 1, false);
    group.order_after_training();
    world.barrier().wait_host();
    const test_device::Use::Counts before = device.counts();
    world.barrier().wait_host();
    std::vector<checkpoint::SourcePiece> pieces = shares.own();
    group.copy(pieces);
    world.barrier().wait_host();
    const test_device::Use::Counts after = device.counts();
    world.barrier().wait_host();  // each rank frees its memory after both have counted
    if (!group.writes()) return 0;
    num_unpinned = after.unpinned - before.unpinned;
    memory_calls = after.memory_calls() - before.memory_calls();
    group.append_members(pieces, [] {});
    for (std::size_t rank = 0; rank < written.size(); ++rank)
      std::ranges::copy(pieces.at(rank).data.span<float>(), written[rank].begin());
    return 0;
  });
  CHECK(num_unpinned == 0);
  CHECK(memory_calls == 0);  // a step may be under way
  for (std::size_t rank = 0; rank < written.size(); ++rank)
    CHECK(std::ranges::count(written[rank], static_cast<float>(rank + 1)) == num_values);
}
