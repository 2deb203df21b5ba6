#include "plan/launch.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "base/system/limits.hpp"
#include "comm/device_collectives/device_transport.hpp"
#include "comm/exchange.hpp"
#include "comm/topology/nccl_decision.hpp"
#include "kernels/arithmetic.hpp"
#include "kernels/attention.hpp"
#include "plan/precision.hpp"
#include "plan/settings.hpp"
#include "tensor/device/accelerator.hpp"

namespace dt::plan {

namespace {

int ranks_per_node(const std::vector<std::string>& hosts) {
  const auto first_of_next =
      std::find_if(hosts.begin(), hosts.end(), [&](const auto& h) { return h != hosts[0]; });
  const auto count = static_cast<std::size_t>(first_of_next - hosts.begin());
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (hosts.size() % count != 0 || hosts[rank] != hosts[rank / count * count]) return 0;
    if (rank >= count && rank % count == 0 && hosts[rank] == hosts[rank - 1]) return 0;
  }
  return static_cast<int>(count);
}

/// Returns for each name its number among the distinct names.
std::vector<int> numbers_of(const std::vector<std::string>& names) {
  std::map<std::string, int> numbers;
  std::vector<int> of_each;
  for (const std::string& name : names)
    of_each.push_back(numbers.try_emplace(name, static_cast<int>(numbers.size())).first->second);
  return of_each;
}

/// The CPU resources that a rank may use.
struct Bounds {
  std::string host;
  std::string quota_group{};  // the cgroup that bounds its processor time, "" if there is none
  int quota_cores = 0;        // cores that the quota allows, rounded up
  std::vector<int> cores;
};

Bounds own_bounds() {
  Bounds own{.host = host_name(), .cores = available_core_numbers()};
  if (const auto quota = cgroup_cpu_quota()) {
    own.quota_group = quota->group;
    own.quota_cores = static_cast<int>(std::ceil(std::min(quota->cpus, 1e6)));
  }
  return own;
}

std::string to_text(const Bounds& bounds) {
  return fmt::format("{}\n{}\n{} {}", bounds.host, bounds.quota_group, bounds.quota_cores,
                     fmt::join(bounds.cores, " "));
}

Bounds parse_bounds(const std::string& text) {
  std::istringstream lines(text);
  Bounds bounds;
  std::getline(lines, bounds.host);
  std::getline(lines, bounds.quota_group);
  lines >> bounds.quota_cores;
  for (int core = 0; lines >> core;) bounds.cores.push_back(core);
  return bounds;
}

}  // namespace

int Launch::host_of(int rank) const {
  const auto index = static_cast<std::size_t>(rank);
  return index < hosts.size() ? hosts[index] : rank / std::max(1, ranks_per_node);
}

int Launch::gpu_of(int rank) const {
  if (const auto index = static_cast<std::size_t>(rank); index < gpus.size()) return gpus[index];
  const int of_host = std::max(1, gpus_per_node);
  return host_of(rank) * of_host + rank % std::max(1, ranks_per_node) % of_host;
}

Launch find_launch(comm::Communicator& world, int num_ranks) {
  const Bounds own = own_bounds();
  std::set<int> cores;
  int ranks = 0, with_quota = 0;   // on this host
  std::vector<std::string> hosts;  // hosts of all ranks
  std::vector<std::string> texts = comm::gather_texts(world, to_text(own));
  texts.resize(static_cast<std::size_t>(num_ranks));
  std::map<std::string, Bounds> parsed;  // ranks of a host mostly have the same text
  for (const std::string& text : texts) {
    const auto [place, is_new] = parsed.try_emplace(text);
    Bounds& other = place->second;
    if (is_new) other = parse_bounds(text);
    hosts.push_back(other.host);
    if (other.host != own.host) continue;
    ++ranks;
    with_quota += other.quota_group == own.quota_group ? 1 : 0;
    cores.insert(other.cores.begin(), other.cores.end());
  }
  int host_cores = std::max(1, static_cast<int>(cores.size()));
  int share = host_cores / std::max(1, ranks);
  if (own.quota_cores > 0) {
    share = std::min(share, own.quota_cores / std::max(1, with_quota));
    if (with_quota == ranks) host_cores = std::min(host_cores, own.quota_cores);
  }
  return {.rank = std::min(world.rank(), num_ranks - 1),
          .num_ranks = num_ranks,
          .cores = std::max(1, share),
          .host_cores = host_cores,
          .ranks_per_node = ranks_per_node(hosts),
          .hosts = numbers_of(hosts)};
}

Launch launch_on_subset(const Launch& launch, int num_ranks) {
  Launch first = launch;
  first.num_ranks = std::min(launch.num_ranks, num_ranks);
  first.rank = std::min(launch.rank, first.num_ranks - 1);
  first.ranks_per_node = std::min(launch.ranks_per_node, first.num_ranks);
  if (first.ranks_per_node > 0 && first.num_ranks % first.ranks_per_node != 0) first.ranks_per_node = 0;
  return first;
}

namespace {

using comm::DeviceRequest;

// Time limit of waits for a GPU, as a part of --comm-timeout. It is less than the limit for other
// ranks: the rank of a GPU that hangs reports this before the ranks that wait for that rank fail.
constexpr double of_comm_timeout = 0.8;
// Time added to --comm-timeout if GPUs wait for each other. The watchdog, and after it the engine,
// can then report which ranks they wait for.
constexpr double after_comm_timeout_s = 60;

/// Errors: usage, an option that only CPUs take.
void check_options_of_gpus(const Settings& settings) {
  const bool is_short = dtype_bytes(precision_of(settings).compute) == 2;  // refuses tf32 without fp32
  if (!settings.matmul || settings.matmul == Arithmetic::tf32 ||
      (settings.matmul == Arithmetic::fp32 && !is_short))
    return;
  throw Error(
      ErrorKind::usage,
      fmt::format("--matmul {} is for {} on CPUs, but --device {} computes on GPUs",
                  name_of(*settings.matmul), precision_name(settings.precision), name_of(settings.device)),
      "use --matmul auto, or fp32 or tf32 with --precision fp32, or --device cpu");
}

/// Errors: usage, an option that only GPUs take.
void check_options_of_cpus(const Settings& settings) {
  if (settings.matmul != Arithmetic::tf32) return;
  throw Error(ErrorKind::usage,
              fmt::format("--matmul tf32 is for fp32 on GPUs, but --device {} computes on {}",
                          name_of(settings.device),
                          settings.device == DeviceRequest::cpu ? "CPUs" : "the CPUs of these hosts"),
              "use --matmul auto, or --device cuda on hosts with GPUs");
}

/// Errors: usage, --reduce-order would have no effect.
void check_reduce_order(const comm::Ranks& ranks, const Settings& settings, const Launch& launch) {
  comm::run_collectively(ranks.world, [&] {
    if (settings.reduce_order == comm::ReduceOrder::free && launch.device_collectives.empty())
      throw Error(ErrorKind::usage, "--reduce-order free needs NCCL, which these ranks do not use",
                  "use --reduce-order tree, or --comm nccl and one GPU per rank");
  });
}

}  // namespace

Launch find_launch(const Settings& settings, const comm::Ranks& ranks, int num_ranks) {
  comm::Communicator& world = ranks.world;
  Launch launch = find_launch(world, num_ranks);
  const auto asked =
      static_cast<DeviceRequest>(comm::broadcast_number(world, static_cast<std::int64_t>(settings.device)));
  std::vector<comm::HostGpus> seen = comm::gather_gpus(world, asked != DeviceRequest::cpu);
  seen.resize(static_cast<std::size_t>(num_ranks));
  comm::DeviceChoice choice;
  kernels::AttentionLibrary attention;
  comm::run_collectively(world, [&] {
    if (asked == DeviceRequest::cuda) check_options_of_gpus(settings);
    if (asked == DeviceRequest::cpu) check_options_of_cpus(settings);
    choice = comm::choose_devices(asked, seen);
    launch.device = choice.of_rank[static_cast<std::size_t>(launch.rank)];
    launch.gpus_per_node = choice.gpus_per_node;
    launch.gpus = choice.gpu_of_rank;
    if (launch.device == Device::host()) return check_options_of_cpus(settings);
    if (world.rank() >= num_ranks) return;
    check_options_of_gpus(settings);
    launch.gpu = accelerator().gpus().at(static_cast<std::size_t>(launch.device.index()));
    attention = kernels::attention_library();
    launch.gpu.software += fmt::format(", {}, {}", kernels::matmul_library(),
                                       attention.name.empty() ? "no cuDNN" : attention.name);
    launch.orders_attention_sums =
        attention.ordered_major != 0 && launch.gpu.major == attention.ordered_major;
    launch.gpu_free_bytes = accelerator().free_bytes(launch.device);
  });
  std::vector<std::string> software = comm::gather_texts(world, launch.gpu.software);
  software.resize(static_cast<std::size_t>(num_ranks));
  if (!choice.announcement.empty()) ranks.console.info("{}", choice.announcement);
  for (const std::string& warning : choice.warnings) ranks.console.warn("{}", warning);
  const comm::NcclDecision streams = comm::decide_nccl(ranks, choice, seen, num_ranks);
  launch.device_collectives = streams.library;
  if (!streams.library.empty())
    ranks.console.info("communication between GPUs: {}; {}", streams.library,
                       comm::device_transport_library()->limits());
  if (!streams.reason.empty())
    ranks.console.warn("communication between GPUs goes through host memory, which is slow: {}",
                       streams.reason);
  if (launch.device != Device::host()) {
    const double seconds = settings.comm_timeout.seconds;
    accelerator().set_timeout(launch.device_collectives.empty() ? of_comm_timeout * seconds
                                                                : seconds + after_comm_timeout_s);
  }
  check_reduce_order(ranks, settings, launch);
  if (launch.device != Device::host() && attention.name.empty())
    ranks.console.warn("{}: 16-bit attention uses slower kernels", attention.unavailable_reason);
  const std::string difference = describe_software_mismatch(software, seen);
  if (!difference.empty()) ranks.console.warn("{}", difference);
  return launch;
}

Launch simulated_launch(const Settings& settings, int num_ranks) {
  const bool is_cuda = settings.device == DeviceRequest::cuda;
  is_cuda ? check_options_of_gpus(settings) : check_options_of_cpus(settings);
  if (settings.reduce_order == comm::ReduceOrder::free && !is_cuda)
    throw Error(ErrorKind::usage, "--reduce-order free needs NCCL, which CPUs do not use",
                "use --reduce-order tree, or --device cuda");
  Launch all{.num_ranks = static_cast<int>(*settings.ranks),
             .ranks_per_node = static_cast<int>(settings.ranks_per_node.value_or(*settings.ranks))};
  if (is_cuda) {
    all.device = Device::gpu(0);
    all.gpu.name = "simulated";
    all.device_collectives = "NCCL";
    all.gpus_per_node = all.ranks_per_node;
  }
  return launch_on_subset(all, num_ranks);
}

std::string describe_software_mismatch(const std::vector<std::string>& of_ranks,
                                       const std::vector<comm::HostGpus>& seen) {
  for (std::size_t rank = 1; rank < of_ranks.size(); ++rank) {
    if (of_ranks[rank] == of_ranks[0]) continue;
    return fmt::format("{} has {}, and {} has {}: results may not be bit-identical to those of uniform nodes",
                       seen[0].host, of_ranks[0], seen[rank].host, of_ranks[rank]);
  }
  return {};
}

}  // namespace dt::plan
