#include "comm/topology/gpus.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/io/json.hpp"
#include "base/numeric/integer.hpp"
#include "base/system/host.hpp"
#include "base/text/text.hpp"
#include "comm/exchange.hpp"
#include "tensor/device/gpu_probe.hpp"

namespace dt::comm {

namespace {

using Json = nlohmann::json;

HostGpus look_for_gpus(bool is_wanted) {
  HostGpus seen{.host = host_name(), .gpus = {}};
  if (!is_wanted) return seen;
  if (!has_accelerator()) {
    seen.unavailable_reason = "this program was built without CUDA";
    return seen;
  }
  try {
    seen.gpus = accelerator().gpus();
  } catch (const NoGpu& error) {
    seen.unavailable_reason = error.message();
  } catch (const Error& error) {
    seen.unavailable_reason = error.what();
    seen.remedy = error.context();
    seen.are_unusable = true;
  }
  seen.domains = numa_domains(available_core_numbers());
  for (const Gpu& gpu : seen.gpus) seen.domains_of_gpus.push_back(numa_domain_of_pci(gpu.address));
  return seen;
}

std::string to_text(const HostGpus& seen) {
  Json gpus = Json::array();
  for (const Gpu& gpu : seen.gpus)
    gpus.push_back({{"name", gpu.name}, {"id", gpu.id}, {"address", gpu.address}});
  return Json{{"host", seen.host},
              {"gpus", gpus},
              {"domains_of_gpus", seen.domains_of_gpus},
              {"domains", seen.domains},
              {"why_none", seen.unavailable_reason},
              {"remedy", seen.remedy},
              {"are_unusable", seen.are_unusable}}
      .dump();
}

std::vector<int> domains_in(const JsonValue& json, const std::string& name) {
  std::vector<int> domains;
  for (const std::int64_t domain : json.integers(name)) domains.push_back(static_cast<int>(domain));
  return domains;
}

HostGpus from_text(const std::string& text) {
  const JsonValue json = JsonValue::parse(text, {"the GPUs of a rank"});
  HostGpus seen{.host = json.string("host"),
                .gpus = {},
                .domains_of_gpus = domains_in(json, "domains_of_gpus"),
                .domains = domains_in(json, "domains"),
                .unavailable_reason = json.string("why_none"),
                .remedy = json.string("remedy"),
                .are_unusable = json.boolean("are_unusable")};
  for (const JsonValue& gpu : json.objects("gpus"))
    seen.gpus.push_back(
        {.name = gpu.string("name"), .id = gpu.string("id"), .address = gpu.string("address")});
  return seen;
}

/// Ranks of each host.
using HostRanks = std::map<std::string, std::vector<std::size_t>>;

HostRanks ranks_by_host(const std::vector<HostGpus>& ranks) {
  HostRanks by_host;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) by_host[ranks[rank].host].push_back(rank);
  return by_host;
}

/// Divides a host's GPUs among its ranks.
class HostDivision {
 public:
  HostDivision(const std::vector<HostGpus>& ranks, std::vector<std::size_t> members)
      : ranks_(ranks), waiting_(std::move(members)) {
    for (const std::size_t rank : waiting_) {
      for (const Gpu& gpu : ranks[rank].gpus) num_users_[gpu.id] = 0;
    }
    most_users_ = ceil_div(waiting_.size(), num_users_.size());
    // Ranks with the fewest GPUs to choose from come first.
    std::ranges::stable_sort(waiting_, {}, [&](std::size_t rank) {
      return std::pair(ranks[rank].gpus.size(), ranks[rank].domains.size());
    });
  }

  /// Writes the device of each of the ranks.
  void divide(std::vector<Device>& devices) {
    const auto is_near = [](const HostGpus& seen, std::size_t gpu) {
      if (seen.gpus.size() == 1) return true;
      return gpu < seen.domains_of_gpus.size() &&
             std::ranges::count(seen.domains, seen.domains_of_gpus[gpu]) > 0;
    };
    const auto is_free = [&](const HostGpus& seen, std::size_t gpu) {
      return num_users_[seen.gpus[gpu].id] < most_users_;
    };
    choose(devices, [&](const auto& seen, auto gpu) { return is_near(seen, gpu) && is_free(seen, gpu); });
    choose(devices, is_free);
    choose(devices, [](const auto&, auto) { return true; });
  }

 private:
  /// Gives each waiting rank the GPU with the fewest users among those that `may_take` allows.
  void choose(std::vector<Device>& devices,
              const std::function<bool(const HostGpus&, std::size_t gpu)>& may_take) {
    for (const std::size_t rank : std::exchange(waiting_, {})) {
      const HostGpus& seen = ranks_[rank];
      std::optional<std::size_t> best;
      for (std::size_t gpu = 0; gpu < seen.gpus.size(); ++gpu) {
        if (!may_take(seen, gpu)) continue;
        if (!best || num_users_[seen.gpus[gpu].id] < num_users_[seen.gpus[*best].id]) best = gpu;
      }
      if (!best) {
        waiting_.push_back(rank);
        continue;
      }
      ++num_users_[seen.gpus[*best].id];
      devices[rank] = Device::gpu(static_cast<int>(*best));
    }
  }

  const std::vector<HostGpus>& ranks_;
  std::vector<std::size_t> waiting_;
  std::map<std::string, std::size_t> num_users_;  // by the GPU's id
  std::size_t most_users_ = 0;
};

std::vector<Device> divide_gpus(const std::vector<HostGpus>& ranks) {
  std::vector<Device> devices(ranks.size(), Device::host());
  for (auto& [host, members] : ranks_by_host(ranks)) HostDivision(ranks, members).divide(devices);
  return devices;
}

/// The ranks of each GPU that has any, by host and id.
using Users = std::map<std::pair<std::string, std::string>, std::vector<std::size_t>>;

const Gpu& gpu_of(const std::vector<HostGpus>& ranks, const std::vector<Device>& devices, std::size_t rank) {
  return ranks[rank].gpus[static_cast<std::size_t>(devices[rank].index())];
}

Users users_of(const std::vector<HostGpus>& ranks, const std::vector<Device>& devices) {
  Users users;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    users[{ranks[rank].host, gpu_of(ranks, devices, rank).id}].push_back(rank);
  return users;
}

int fewest_of_a_host(const Users& users) {
  std::map<std::string, int> counts;
  for (const auto& [gpu, its_ranks] : users) ++counts[gpu.first];
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::ranges::min_element(counts, less)->second;
}

void warn_of_sharing(const Users& users, DeviceChoice& choice) {
  const auto fewer = [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); };
  const auto& [gpu, its_ranks] = *std::ranges::max_element(users, fewer);
  if (its_ranks.size() == 1) return;
  choice.warnings.push_back(
      fmt::format("{} ranks share a GPU of {} and its memory: one rank per GPU would be faster",
                  its_ranks.size(), gpu.first));
}

void announce_gpus(const std::vector<HostGpus>& ranks, const Users& users, DeviceChoice& choice) {
  std::map<std::string, int> counts;
  for (const auto& [gpu, its_ranks] : users) ++counts[gpu_of(ranks, choice.of_rank, its_ranks[0]).name];
  std::string names;
  for (const auto& [name, count] : counts)
    names += fmt::format("{}{} × {}", names.empty() ? "" : ", ", count, name);
  choice.announcement = "computing on cuda: " + names;
  if (counts.size() > 1)
    choice.warnings.push_back(
        "ranks use different GPU models: results may not be bit-identical to those of one model");
}

/// Warns of ranks that see one GPU each. NCCL asks NVML for NVLink, and NVML does not see GPUs that
/// the process's cgroup excludes.
/// Source: NVIDIA/nccl#1066; open-mpi/ompi#11949.
void warn_of_lone_gpus(const std::vector<HostGpus>& ranks, DeviceChoice& choice) {
  std::vector<std::string> hosts;
  std::size_t num_ranks = 0;  // number of ranks on the first of the hosts
  for (const auto& [host, members] : ranks_by_host(ranks)) {
    std::set<std::string> addresses;
    for (const std::size_t rank : members) addresses.insert(ranks[rank].gpus[0].address);
    const bool sees_one =
        std::ranges::all_of(members, [&](auto rank) { return ranks[rank].gpus.size() == 1; });
    if (!sees_one || addresses.size() < 2) continue;
    if (hosts.empty()) num_ranks = members.size();
    hosts.push_back(host);
  }
  if (hosts.empty()) return;
  const std::string others =
      hosts.size() == 1 ? "" : fmt::format(" and those on {}", pluralize(hosts.size() - 1, "more host"));
  choice.warnings.push_back(fmt::format(
      "the {} ranks on {}{} see one GPU each: if their cgroups exclude the other GPUs, NCCL cannot use "
      "NVLink and falls back silently to PCIe or shared memory; omit --gpu-bind and --gpus-per-task of "
      "srun, so that each rank sees all GPUs of the job and selects its own",
      num_ranks, hosts[0], others));
}

DeviceChoice on_gpus(const std::vector<HostGpus>& ranks) {
  DeviceChoice choice{.of_rank = divide_gpus(ranks)};
  const Users users = users_of(ranks, choice.of_rank);
  choice.gpus_per_node = fewest_of_a_host(users);
  choice.gpu_of_rank.resize(ranks.size());
  for (int number = 0; const auto& [gpu, its_ranks] : users) {
    for (const std::size_t rank : its_ranks) choice.gpu_of_rank[rank] = number;
    ++number;
  }
  announce_gpus(ranks, users, choice);
  warn_of_sharing(users, choice);
  warn_of_lone_gpus(ranks, choice);
  return choice;
}

}  // namespace

std::vector<HostGpus> gather_gpus(Communicator& group, bool is_wanted) {
  const std::vector<std::string> texts = gather_texts(group, to_text(look_for_gpus(is_wanted)));
  std::vector<HostGpus> seen;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {  // ranks of a host have the same text
    const bool is_as_before = rank > 0 && texts[rank] == texts[rank - 1];
    seen.push_back(is_as_before ? seen.back() : from_text(texts[rank]));
  }
  return seen;
}

DeviceChoice choose_devices(DeviceRequest asked, const std::vector<HostGpus>& ranks) {
  DeviceChoice on_cpus{.of_rank = std::vector<Device>(ranks.size(), Device::host())};
  if (asked == DeviceRequest::cpu) return on_cpus;
  const auto without = std::ranges::find_if(ranks, [](const HostGpus& seen) { return seen.gpus.empty(); });
  if (without == ranks.end()) return on_gpus(ranks);
  const std::string rank = fmt::format("rank {} on {}", without - ranks.begin(), without->host);
  if (asked == DeviceRequest::cuda) {
    throw Error(ErrorKind::environment,
                fmt::format("--device cuda: {}: {}", rank, without->unavailable_reason),
                without->remedy.empty() ? "use --device cpu" : without->remedy);
  }
  // Training on CPUs in place of GPUs would go unnoticed.
  const auto unusable = std::ranges::find_if(ranks, &HostGpus::are_unusable);
  if (unusable != ranks.end()) {
    throw Error(ErrorKind::environment,
                fmt::format("rank {} on {} cannot use its GPUs: {}", unusable - ranks.begin(), unusable->host,
                            unusable->unavailable_reason),
                unusable->remedy + "; or use --device cpu");
  }
  // A node whose GPU has failed must not leave the GPUs of all ranks idle.
  if (std::ranges::any_of(ranks, [](const HostGpus& seen) { return !seen.gpus.empty(); }))
    throw Error(ErrorKind::environment,
                fmt::format("some ranks have GPUs, but {} has none: {}", rank, without->unavailable_reason),
                "start ranks on hosts with GPUs, or use --device cpu");
  on_cpus.announcement = fmt::format("computing on the CPU: {}", without->unavailable_reason);
  return on_cpus;
}

}  // namespace dt::comm
