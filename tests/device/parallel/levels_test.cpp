// Sums of gradients over ranks on several nodes: ranks sum within each node first.

#include <cstdint>

#include "device/counted_streams.hpp"
#include "parallel/divided_step.hpp"

using namespace dt;
using namespace dt_test::divided;

namespace {

constexpr int num_ranks = 8, per_node = 4;

/// A step's sums over streams, by ranks on nodes: the gradient, and the bytes that pass between nodes.
struct Summed {
  std::vector<float> gradient;
  std::int64_t bytes = 0;
};

Summed sum(Setting setting, const std::function<std::string(int)>& host_of) {
  const test_device::Use device(static_cast<std::uint64_t>(setting.stage) + 1);
  accelerator().set_timeout(20);
  test_device::CountedNetwork network(num_ranks);
  setting.host_of = host_of;
  setting.set_streams = [&](comm::Communicator& world, Device of_rank) {
    world.set_device_transport(network.transport(world.rank(), of_rank));
  };
  Summed summed{.gradient = gradient(setting)};
  std::vector<int> nodes;
  for (int rank = 0; rank < num_ranks; ++rank) nodes.push_back(rank / per_node);
  summed.bytes = network.sent_between(nodes);
  return summed;
}

}  // namespace

TEST_CASE("whatever ranks divide, nodes sum before they send, and every bit stays", "[test-device]") {
  const auto in_nodes = [](int rank) { return "n" + std::to_string(rank / per_node); };
  const auto apart = [](int rank) { return "n" + std::to_string(rank); };
  for (const DType wire : {DType::f32, DType::bf16}) {
    for (const int stage : {0, 1, 2, 3}) {
      INFO("stage " << stage << ", in " << dtype_name(wire));
      Setting setting{.ranks = num_ranks, .micro_batches = num_ranks, .lanes = num_ranks, .stage = stage};
      setting.precision.reduce = wire;
      const Summed flat = sum(setting, apart), by_nodes = sum(setting, in_nodes);
      CHECK(same_bits(flat.gradient, by_nodes.gradient));
      if (wire == DType::f32) {
        CHECK(same_bits(gradient(setting), by_nodes.gradient));
        CHECK(by_nodes.bytes * per_node == flat.bytes);
      } else {  // 32-bit sums of a node, instead of 16-bit terms, go between nodes
        CHECK(by_nodes.bytes * per_node == flat.bytes * 2);
      }
    }
  }
}
