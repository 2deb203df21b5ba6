#include "comm/gpus.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/host.hpp"
#include "comm/exchange.hpp"

namespace dt::comm {

namespace {

using Json = nlohmann::json;

SeenGpus look_for_gpus(bool is_wanted) {
  SeenGpus seen{.host = host_name(), .gpus = {}};
  if (!is_wanted) return seen;
  if (!has_accelerator()) {
    seen.why_none = "this program was built without CUDA";
    return seen;
  }
  try {
    seen.gpus = accelerator().gpus();
  } catch (const Error& error) {
    seen.why_none = error.message();
  }
  return seen;
}

std::string to_text(const SeenGpus& seen) {
  Json gpus = Json::array();
  for (const Gpu& gpu : seen.gpus)
    gpus.push_back({{"name", gpu.name}, {"id", gpu.id}, {"address", gpu.address}});
  return Json{{"host", seen.host}, {"gpus", gpus}, {"why_none", seen.why_none}}.dump();
}

SeenGpus from_text(const std::string& text) {
  const Json json = Json::parse(text);
  SeenGpus seen{.host = json["host"], .gpus = {}, .why_none = json["why_none"]};
  for (const Json& gpu : json["gpus"])
    seen.gpus.push_back({.name = gpu["name"], .id = gpu["id"], .address = gpu["address"]});
  return seen;
}

/// What tells the GPUs of a host apart, whoever sees which of them.
std::vector<std::string> ids_of(const SeenGpus& seen) {
  std::vector<std::string> ids;
  for (const Gpu& gpu : seen.gpus) ids.push_back(gpu.id);
  return ids;
}

std::vector<Device> take_in_turn(const std::vector<SeenGpus>& ranks) {
  std::map<std::pair<std::string, std::vector<std::string>>, int> takers;  // so far, of those that see these
  std::vector<Device> devices;
  for (const SeenGpus& seen : ranks) {
    const int before = takers[{seen.host, ids_of(seen)}]++;
    devices.push_back(Device::gpu(before % static_cast<int>(seen.gpus.size())));
  }
  return devices;
}

/// The ranks of each GPU that has any, by host and id.
using Users = std::map<std::pair<std::string, std::string>, std::vector<std::size_t>>;

const Gpu& gpu_of(const std::vector<SeenGpus>& ranks, const std::vector<Device>& devices, std::size_t rank) {
  return ranks[rank].gpus[static_cast<std::size_t>(devices[rank].index())];
}

Users users_of(const std::vector<SeenGpus>& ranks, const std::vector<Device>& devices) {
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
      fmt::format("{} ranks share a GPU of {} and its memory: as many ranks as GPUs would be faster",
                  its_ranks.size(), gpu.first));
}

void announce_gpus(const std::vector<SeenGpus>& ranks, const Users& users, DeviceChoice& choice) {
  std::map<std::string, int> counts;
  for (const auto& [gpu, its_ranks] : users) ++counts[gpu_of(ranks, choice.of_rank, its_ranks[0]).name];
  std::string names;
  for (const auto& [name, count] : counts)
    names += fmt::format("{}{} × {}", names.empty() ? "" : ", ", count, name);
  choice.announcement = "computing on cuda: " + names;
  if (counts.size() > 1)
    choice.warnings.push_back("ranks compute on GPUs of different kinds: bits may differ from those of one");
}

DeviceChoice on_gpus(const std::vector<SeenGpus>& ranks) {
  DeviceChoice choice{.of_rank = take_in_turn(ranks)};
  const Users users = users_of(ranks, choice.of_rank);
  choice.gpus_per_node = fewest_of_a_host(users);
  choice.gpu_of_rank.resize(ranks.size());
  for (int number = 0; const auto& [gpu, its_ranks] : users) {
    for (const std::size_t rank : its_ranks) choice.gpu_of_rank[rank] = number;
    ++number;
  }
  announce_gpus(ranks, users, choice);
  warn_of_sharing(users, choice);
  return choice;
}

}  // namespace

std::vector<SeenGpus> see_gpus(Communicator& group, bool is_wanted) {
  std::vector<SeenGpus> seen;
  for (const std::string& text : gather_texts(group, to_text(look_for_gpus(is_wanted))))
    seen.push_back(from_text(text));
  return seen;
}

DeviceChoice choose_devices(const std::string& asked, const std::vector<SeenGpus>& ranks) {
  DeviceChoice on_cpus{.of_rank = std::vector<Device>(ranks.size(), Device::host())};
  if (asked == "cpu") return on_cpus;
  const auto without = std::ranges::find_if(ranks, [](const SeenGpus& seen) { return seen.gpus.empty(); });
  if (without == ranks.end()) return on_gpus(ranks);
  const std::string who = fmt::format("rank {} on {}", without - ranks.begin(), without->host);
  if (asked == "cuda") {
    throw Error(ErrorKind::environment, fmt::format("--device cuda: {}: {}", who, without->why_none),
                "--device cpu needs none");
  }
  // A node whose GPU has failed must not turn everyone's into idle ones.
  if (std::ranges::any_of(ranks, [](const SeenGpus& seen) { return !seen.gpus.empty(); }))
    throw Error(ErrorKind::environment,
                fmt::format("some ranks have GPUs, and {} has none: {}", who, without->why_none),
                "start ranks where there are GPUs, or give --device cpu");
  on_cpus.announcement = fmt::format("computing on the CPU: {}", without->why_none);
  return on_cpus;
}

}  // namespace dt::comm
