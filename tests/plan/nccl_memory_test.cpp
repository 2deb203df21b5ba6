#include "plan/memory/nccl_memory.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <iostream>
#include <map>
#include <string>

#include "base/error.hpp"
#include "model/parameter_table.hpp"
#include "plan/choose_layout.hpp"
#include "plan/memory/memory_estimate.hpp"
#include "plan/memory/memory_fit.hpp"
#include "plan/memory/nccl_groups.hpp"
#include "plan/settings.hpp"
#include "support/expert_table.hpp"

using namespace dt;
using namespace dt::plan;

namespace {

constexpr std::size_t MiB = std::size_t{1} << 20;

NcclSettings settings_of(std::map<std::string, std::string> variables = {}) {
  return nccl_settings([variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

constexpr NcclTopology dgx_h100{}, dgx_a100{.compute_major = 8}, dgx_b200{.compute_major = 10},
    pcie{.within = NodeLinks::pcie};

NcclGroup all_to_all(int nodes, int per_node) {
  const int ranks = nodes * per_node;
  return {.ranks = ranks,
          .nodes = nodes,
          .local_ranks = per_node,
          .local_sends = per_node - 1,
          .local_receives = per_node - 1,
          .remote_sends = ranks - per_node,
          .remote_receives = ranks - per_node};
}

NcclGroup gathering(int nodes, int per_node) {
  return {.ranks = nodes * per_node, .nodes = nodes, .local_ranks = per_node, .gathers = true};
}

NcclChannels channels(const NcclGroup& group, const NcclTopology& topology) {
  return nccl_channels(group, topology, settings_of());
}

std::size_t device_bytes(const NcclGroup& group, const NcclTopology& topology,
                         const std::map<std::string, std::string>& variables = {}) {
  return nccl_memory(group, topology, settings_of(variables)).device;
}

/// Returns the memory of connections, without the communicator itself.
std::size_t connections(NcclGroup group, const NcclTopology& topology,
                        const std::map<std::string, std::string>& variables = {}) {
  const std::size_t all = device_bytes(group, topology, variables);
  group.local_sends = group.local_receives = group.remote_sends = group.remote_receives = 0;
  group.gathers = group.reduces = false;
  return all - device_bytes(group, topology, variables);
}

struct Job {
  const char* options;
  model::Layout layout;
};

/// Layouts whose dp is the number of ranks that remain.
const std::array<Job, 16> layouts = {{{"dp", {}},
                                      {"dp zero 1", {.zero = 1}},
                                      {"dp zero 3", {.zero = 3}},
                                      {"dp zero 3 group 4", {.zero = 3, .zero_group = 4}},
                                      {"tp 2", {.tp = 2}},
                                      {"tp 4 zero 1", {.tp = 4, .zero = 1}},
                                      {"tp 8", {.tp = 8}},
                                      {"tp 8 sp", {.tp = 8, .sequence_parallel = true}},
                                      {"pp 2", {.pp = 2}},
                                      {"pp 4", {.pp = 4}},
                                      {"pp 8", {.pp = 8}},
                                      {"pp 2 tp 2", {.pp = 2, .tp = 2}},
                                      {"pp 4 tp 2", {.pp = 4, .tp = 2}},
                                      {"cp 2", {.cp = 2}},
                                      {"cp 4 tp 2", {.tp = 2, .cp = 4}},
                                      {"pp 2 cp 2 tp 2 zero 1", {.pp = 2, .tp = 2, .zero = 1, .cp = 2}}}};

/// Returns a plan whose dp is the number of ranks that the layout leaves.
Plan plan_of(model::Layout layout, int nodes, int per_node) {
  Plan plan;
  plan.launch = {.num_ranks = nodes * per_node, .ranks_per_node = per_node};
  layout.dp = plan.launch.num_ranks / layout.size();
  plan.spec = model::load_model_spec("llama-1b");
  layout.stages = model::even_stages(static_cast<int>(plan.spec.layers) + 2, layout.pp);
  plan.layout = layout;
  return plan;
}

std::vector<NamedNcclGroup> groups_of(const Plan& plan) {
  const model::ParameterTable table(plan.spec);
  return nccl_groups(plan, parallel::LocalTable(table, plan.layout, plan.place));
}

/// Returns the bytes of the stage whose ranks take most.
NcclBytes bytes_of(const model::Layout& layout, int nodes, const NcclTopology& topology) {
  Plan plan = plan_of(layout, nodes, 8);
  NcclBytes most;
  for (plan.place.pp = 0; plan.place.pp < layout.pp; ++plan.place.pp) {
    NcclBytes bytes;
    for (const NamedNcclGroup& named : groups_of(plan))
      bytes += nccl_memory(named.group, topology, settings_of());
    if (bytes.device + bytes.host > most.device + most.host) most = bytes;
  }
  return most;
}

struct Site {
  const char* name;
  int nodes;
  NcclTopology topology;
};
const std::array<Site, 4> sites = {{{"NVSwitch", 1, dgx_h100},
                                    {"PCIe", 1, pcie},
                                    {"two nodes InfiniBand", 2, dgx_h100},
                                    {"two nodes TCP", 2, {.between = NetLinks::tcp}}}};

using Peers = std::array<int, 2>;
/// Returns how many peers a plan's rank has in the named group, on its node and on others; −1 if
/// there is no such group. Checks that it sends to as many peers as it receives from.
Peers peers_in(const Plan& plan, const std::string& name) {
  for (const auto& [its_name, use, group] : groups_of(plan)) {
    if (its_name != name) continue;
    CHECK(group.local_sends + group.remote_sends == group.local_receives + group.remote_receives);
    return {group.local_sends, group.remote_sends};
  }
  return {-1, -1};
}

/// Returns a job's row, in which "2920+1" is MiB of a GPU's memory and of its host's, one for each
/// site.
std::string row(const Job& job) {
  std::string text = fmt::format("{:<22}", job.options);
  for (const Site& site : sites) {
    const NcclBytes bytes = bytes_of(job.layout, site.nodes, site.topology);
    text += fmt::format(" {:>11}", fmt::format("{}+{}", bytes.device / MiB, bytes.host / MiB));
  }
  return text;
}

}  // namespace

TEST_CASE("NCCL has the channels that its log tells of") {
  // DGX H100, one node and two: NVIDIA/nccl#1685 (32 a pair of GPUs), #1453 (16 rings of 24 ranks).
  CHECK(channels(all_to_all(1, 8), dgx_h100) == NcclChannels{24, 16, 32, 32});
  CHECK(channels(all_to_all(1, 2), dgx_h100) == NcclChannels{24, 16, 32, 32});
  CHECK(channels(all_to_all(3, 8), dgx_h100) == NcclChannels{16, 16, 16, 2});
  CHECK(channels(all_to_all(2, 8), dgx_h100) == NcclChannels{16, 16, 16, 2});
  // Two nodes of two H20 each: NVIDIA/nccl#1189.
  NcclTopology h20 = dgx_h100;
  CHECK(channels(all_to_all(2, 2), h20).collective == 8);
  CHECK(channels(all_to_all(2, 2), h20).p2p == 8);
  CHECK(channels(all_to_all(2, 2), h20).p2p_per_peer == 2);
  // One H100 on each of two nodes: NVIDIA/nccl#1605.
  CHECK(channels(all_to_all(2, 1), dgx_h100).collective == 4);
  // Two GPUs without NVLink: NVIDIA/nccl#1358.
  CHECK(channels(all_to_all(1, 2), pcie) == NcclChannels{2, 0, 2, 2});
  CHECK(channels(all_to_all(1, 8), dgx_a100) == NcclChannels{24, 0, 32, 32});
  CHECK(channels(all_to_all(1, 8), dgx_b200) == NcclChannels{32, 24, 32, 32});
  NcclTopology tcp{.between = NetLinks::tcp};
  CHECK(channels(all_to_all(2, 8), tcp).collective == 2);
  CHECK(channels(all_to_all(2, 8), tcp).p2p_per_peer == 1);
  NcclTopology newer = dgx_h100;
  newer.version = 23007;  // by bandwidth: 48 GB/s need 4 channels
  CHECK(channels(all_to_all(2, 8), newer).p2p_per_peer == 4);
  CHECK(channels(all_to_all(8, 8), newer).p2p_per_peer == 2);  // 64 peers, 8 in each of 16 channels
}

TEST_CASE("connections between GPUs of a node take what NCCL allocates for them") {
  // NVIDIA/nccl#1685 counts allocations of 10,485,760 and 2,097,152 bytes for each channel and pair.
  CHECK(connections(all_to_all(1, 2), dgx_h100) == 32 * (10'485'760 + 2'097'152));
  CHECK(connections(all_to_all(1, 8), dgx_h100) == std::size_t{7} * 32 * 12 * MiB);
  CHECK(connections(all_to_all(1, 2), dgx_a100) == std::size_t{32} * (6 + 6) * MiB);  // the receiver reads
  CHECK(connections(all_to_all(1, 8), pcie) == std::size_t{7} * 2 * 12 * MiB);
  // Rings, and NVLS: 16 channels × 2 × 8 steps of 128 KiB × 8 GPUs.
  CHECK(connections(gathering(1, 8), dgx_h100) == (std::size_t{24} * 12 + 256) * MiB);
  CHECK(connections(gathering(1, 8), dgx_a100) == std::size_t{24} * 12 * MiB);
}

TEST_CASE("a communicator takes memory before anything is connected") {
  // A rank alone has 64 channels of three allocations. With 96 MiB of code that makes
  // NVIDIA/nccl#2366's 484 MiB.
  CHECK(device_bytes({}, pcie) == std::size_t{388} * MiB);
  NcclGroup alone;
  alone.max_ctas = 1;
  CHECK(device_bytes(alone, pcie) == std::size_t{10} * MiB);
  CHECK(device_bytes({.ranks = 8, .local_ranks = 8}, dgx_h100) == (std::size_t{32} * 6 + 4 + 34) * MiB);
}

TEST_CASE("between nodes buffers are in the GPU's memory with GPUDirect, else in the host's") {
  const NcclGroup pair = all_to_all(2, 1);
  CHECK(connections(pair, dgx_h100) == std::size_t{2} * 4 * 16 * 128 * 1024);
  const NcclTopology tcp{.between = NetLinks::tcp};
  CHECK(connections(pair, tcp) == 0);
  CHECK(connections(pair, dgx_h100, {{"NCCL_NET", "Socket"}}) == 0);
  CHECK(connections(pair, dgx_h100, {{"NCCL_IB_DISABLE", "1"}}) == 0);
  const std::size_t host = nccl_memory(gathering(2, 1), tcp, settings_of()).host;
  CHECK(host == MiB + 2 * 2 * (524'288 + 4'915'200 + 4'194'304 + 8'192));
}

TEST_CASE("NCCL's memory follows its configuration and its environment") {
  NcclGroup group = all_to_all(1, 8);
  group.max_ctas = 4;
  CHECK(channels(group, dgx_h100) == NcclChannels{4, 4, 4, 4});
  CHECK(connections(group, dgx_h100) == std::size_t{7} * 4 * 12 * MiB);
  CHECK(connections(group, dgx_h100, {{"NCCL_MAX_CTAS", "8"}}) == std::size_t{7} * 8 * 12 * MiB);
  CHECK(connections(group, dgx_h100, {{"NCCL_MAX_NCHANNELS", "2"}}) == std::size_t{7} * 2 * 12 * MiB);
  group.max_ctas = 0;
  CHECK(connections(group, dgx_h100, {{"NCCL_MAX_CTAS", "8"}}) == std::size_t{7} * 8 * 12 * MiB);
  CHECK(connections(group, dgx_h100, {{"NCCL_MAX_NCHANNELS", "16"}}) == std::size_t{7} * 16 * 12 * MiB);
  CHECK(connections(group, dgx_h100, {{"NCCL_BUFFSIZE", "0x1000000"}}) == std::size_t{7} * 32 * 24 * MiB);
  CHECK(connections(group, dgx_h100, {{"NCCL_BUFFSIZE", "none"}}) == connections(group, dgx_h100));
  CHECK(connections(gathering(1, 8), dgx_h100, {{"NCCL_NVLS_ENABLE", "0"}}) == std::size_t{24} * 12 * MiB);
}

TEST_CASE("a GPU's name tells what joins it to others") {
  const auto within = [](const char* name) { return nccl_topology({.name = name}, "NCCL").within; };
  for (const char* name : {"NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "NVIDIA A800-SXM4-80GB",
                           "NVIDIA H800", "NVIDIA H20", "simulated"})
    CHECK(within(name) == NodeLinks::nvswitch);
  for (const char* name : {"NVIDIA H100 PCIe", "NVIDIA H100 NVL", "NVIDIA L40S"})
    CHECK(within(name) == NodeLinks::pcie);
  CHECK(nccl_topology({.name = "G", .major = 8}, "NCCL 2.30.7").version == 23007);
  CHECK(nccl_topology({.name = "G", .major = 8}, "NCCL 2.30.7").compute_major == 8);
}

TEST_CASE("NCCL joins a rank to those with which it sums: of its node, and of its place on others") {
  CHECK(peers_in(plan_of({}, 1, 8), "world") == Peers{7, 0});
  CHECK(peers_in(plan_of({}, 2, 8), "world") == Peers{7, 1});
  CHECK(peers_in(plan_of({.zero = 3}, 3, 8), "world") == Peers{7, 2});
  Plan plan = plan_of({}, 2, 2);
  CHECK(peers_in(plan, "world") == Peers{1, 1});
  plan.precision.reduce = DType::bf16;  // a node's sum is as large as its two terms
  CHECK(peers_in(plan, "world") == Peers{1, 2});
  plan = plan_of({}, 2, 4);
  plan.precision.reduce = DType::bf16;
  CHECK(peers_in(plan, "world") == Peers{3, 1});
  plan.reduce_order = comm::ReduceOrder::free;
  CHECK(peers_in(plan, "world") == Peers{0, 0});
  // Rank 1 of the data group is not rank 1 of the world.
  CHECK(peers_in(plan_of({.cp = 2}, 2, 2), "data") == Peers{1, 2});
  plan = plan_of({.tp = 8}, 2, 4);
  plan.precision.compute = DType::bf16;
  CHECK(peers_in(plan, "world") == Peers{3, 1});
}

TEST_CASE("NCCL joins a rank to its neighbours alone where it only passes on, and makes it no group of one") {
  const std::vector<NamedNcclGroup> groups = groups_of(plan_of({.pp = 8}, 1, 8));
  REQUIRE(groups.size() == 3);  // the world, and a channel each way
  CHECK(groups[0].name == "world");
  CHECK(groups[0].group.local_sends == 0);
  CHECK(groups[1].group.local_sends == 1);
  CHECK(groups[1].group.local_receives == 1);
  CHECK(peers_in(plan_of({.cp = 4}, 1, 8), "context") == Peers{1, 0});
  CHECK(peers_in(plan_of({.tp = 8}, 1, 8), "data") == Peers{-1, -1});
  CHECK(peers_in(plan_of({.tp = 8}, 1, 8), "tensor replicas") == Peers{1, 0});
  CHECK(peers_in(plan_of({.pp = 2}, 1, 2), "world") == Peers{1, 0});  // two ranks connect when joined
  CHECK(groups_of(plan_of({}, 1, 1)).empty());
  // Any two ranks of a stage may exchange parts of a matrix.
  Plan plan = plan_of({.pp = 2}, 2, 4);
  plan.optimizer.kind = optim::OptimizerKind::muon;
  CHECK(peers_in(plan, "stage") == Peers{3, 0});
  plan = plan_of({.tp = 2}, 2, 4);
  plan.optimizer.kind = optim::OptimizerKind::muon;
  CHECK(peers_in(plan, "world") == Peers{3, 4});
}

/// Jobs have eight ranks on one node, and sixteen on two; llama-1b has four key-value heads. The
/// test "[.nccl-memory]" prints the rows.
TEST_CASE("experts have communicators of their own only where ranks divide them") {
  const model::ParameterTable table = dt_test::expert_table();
  const auto sizes = [&](const model::Layout& layout) {
    Plan plan = plan_of(layout, 1, 8);
    plan.spec.layers = 1;
    plan.layout.stages = model::even_stages(static_cast<int>(table.units().size()), 1);
    std::map<std::string, int> ranks;
    for (const NamedNcclGroup& named :
         nccl_groups(plan, parallel::LocalTable(table, plan.layout, plan.place)))
      ranks[named.name] = named.group.ranks;
    return ranks;
  };
  using Sizes = std::map<std::string, int>;
  CHECK(sizes({.zero = 1, .zero_group = 4}) == Sizes{{"world", 8}, {"shards", 4}, {"replicas", 2}});
  CHECK(sizes({.zero = 1, .zero_group = 4, .ep = 2}) == Sizes{{"world", 8},
                                                              {"shards", 4},
                                                              {"replicas", 2},
                                                              {"expert", 2},
                                                              {"expert data", 4},
                                                              {"expert shards", 2},
                                                              {"expert replicas", 2}});
  CHECK(sizes({.tp = 2, .ep = 2})["expert data"] == 2);
}

TEST_CASE("NCCL's memory of sixteen layouts on four kinds of cluster is what was approved") {
  // Columns: NVSwitch, PCIe, two nodes with InfiniBand, two nodes with TCP.
  // clang-format off
  const std::array<const char*, 16> approved = {
      "dp                          1478+1       184+1       366+1       218+9",
      "dp zero 1                   1926+1       208+1       574+3      230+27",
      "dp zero 3                   1926+1       208+1       574+3      230+27",
      "dp zero 3 group 4           1490+3       168+3      1354+3     1322+11",
      "tp 2                        1906+3       168+3      1370+3     1270+11",
      "tp 4 zero 1                 2610+3       192+3      2250+7     2102+29",
      "tp 8                        4076+2       248+2      4254+4     4226+12",
      "tp 8 sp                     4076+2       248+2      4254+4     4226+12",
      "pp 2                        1032+4       184+4      1660+4     1644+20",
      "pp 4                         740+6       216+6       984+6      968+22",
      "pp 8                         414+5       176+5       644+6       644+6",
      "pp 2 tp 2                   1614+5       200+5      1858+5     1842+21",
      "pp 4 tp 2                   1380+6       240+6      1566+7     1550+23",
      "cp 2                        2226+3       240+3      1042+3      930+11",
      "cp 4 tp 2                   2520+4       208+4      1984+4     1884+12",
      "pp 2 cp 2 tp 2 zero 1       2484+6       264+6      2792+6     2776+22",
  };
  // clang-format on
  for (std::size_t i = 0; i < layouts.size(); ++i) CHECK(row(layouts[i]) == approved[i]);
}

TEST_CASE("print NCCL's memory of layouts", "[.nccl-memory]") {
  std::cout << fmt::format("llama-1b, MiB of a GPU + of its host{:<1}", "");
  for (const Site& site : sites) std::cout << " | " << site.name;
  std::cout << "\n";
  for (const Job& job : layouts) std::cout << row(job) << "\n";
}

TEST_CASE("the estimate has NCCL's memory, and of contexts what is on paper") {
  Plan plan;
  plan.spec = model::load_model_spec("gpt2-124m");
  plan.sequence_length = 64, plan.micro_batch = 1, plan.global_batch = plan.micro_batches_per_step = 16;
  plan.layout.dp = 2, plan.grad_lanes = 2;
  plan.layout.stages = model::even_stages(14, 1);
  plan.launch = {.num_ranks = 2,
                 .ranks_per_node = 2,
                 .device = Device::gpu(0),
                 .gpu = {.name = "simulated"},
                 .gpus_per_node = 2};
  plan.device = Device::gpu(0);
  const MemoryEstimate by_messages = estimate_memory(plan).front();
  CHECK(by_messages.nccl == 0);
  plan.launch.device_collectives = "NCCL 2.28.9";
  const MemoryEstimate memory = estimate_memory(plan).front();
  const std::vector<NamedNcclGroup> groups = groups_of(plan);
  REQUIRE(groups.size() == 1);
  NcclGroup sums = all_to_all(1, 2);
  sums.max_ctas = comm::max_ctas(groups.front().use);
  CHECK(memory.nccl == device_bytes(sums, dgx_h100));
  CHECK(memory.nccl_host > 0);
  CHECK(memory.context > by_messages.context);
  CHECK(gpu_memory_bytes(plan) == memory.device_bytes() + memory.batches + memory.context);
  plan.launch.gpu_free_bytes = 80'000 * MiB;
  CHECK(gpu_memory_bytes(plan) == memory.device_bytes() + memory.batches);
  // The message for a plan that does not fit tells how much of the memory is NCCL's.
  plan.launch.gpu_free_bytes = plan.launch.gpu.memory_bytes = 100 * MiB;
  const Replan none = [](const Settings&) -> Plan { throw Error(ErrorKind::usage, "none"); };
  CHECK_THROWS_WITH(check_memory({}, plan, none, std::uint64_t{1} << 40),
                    Catch::Contains(" per rank for NCCL (NCCL_MAX_CTAS and NCCL_BUFFSIZE limit it)"));
}
