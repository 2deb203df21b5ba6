#include "comm/topology/environment.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unistd.h>

#include "base/io/json.hpp"
#include "base/system/host.hpp"
#include "comm/exchange.hpp"

namespace dt::comm {

namespace {

constexpr auto prefixes =
    std::to_array<std::string_view>({"CUDA_DEVICE_", "CUDA_VISIBLE_DEVICES", "FI_", "I_MPI_", "MPICH_",
                                     "MPIR_CVAR_", "NCCL_", "OMPI_MCA_", "OMP_", "SLURM_GPU_BIND", "UCX_"});
/// Variables by which launchers pass addresses, keys, hosts and rank numbers to their processes.
constexpr auto of_launcher = std::to_array<std::string_view>(
    {"I_MPI_HYDRA_", "I_MPI_INFO_", "I_MPI_MPIRUN", "MPICH_INTERFACE_HOSTNAME",
     "MPIR_CVAR_CH3_INTERFACE_HOSTNAME", "OMPI_MCA_ess", "OMPI_MCA_initial_wdir",
     "OMPI_MCA_mpi_oversubscribe", "OMPI_MCA_orte_", "OMPI_MCA_pmix", "OMPI_MCA_rmaps_",
     "OMPI_MCA_shmem_RUNTIME"});
/// Variables that name a rank's own GPU, network card and cores.
constexpr std::array<std::string_view, 3> of_one_rank = {"CUDA_VISIBLE_DEVICES", "OMP_PLACES",
                                                         "UCX_NET_DEVICES"};

bool begins_with_any(std::string_view name, const auto& beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view it) { return name.starts_with(it); });
}

/// Returns JSON text, in which bytes that are not UTF-8 are replaced.
std::string text_of(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

EnvironmentSettings from_text(const std::string& text) {
  const JsonValue json = JsonValue::parse(text, {"the settings of a rank"});
  EnvironmentSettings settings;
  for (const std::string& name : json.names()) settings.emplace(name, json.string(name));
  return settings;
}

/// Returns the settings as other ranks read them.
EnvironmentSettings as_sent(const EnvironmentSettings& settings) {
  const auto read = [](const std::string& word) {
    return JsonValue::parse(text_of(word), {"a setting"}).string();
  };
  EnvironmentSettings sent;
  for (const auto& [name, value] : settings) sent[read(name)] = read(value);  // names may become alike
  return sent;
}

std::string shown(const EnvironmentSettings& settings, const std::string& name) {
  const auto place = settings.find(name);
  return place == settings.end() ? "unset" : "'" + place->second + "'";
}

}  // namespace

EnvironmentSettings environment_settings() {
  EnvironmentSettings settings;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (name.size() == text.size() || !begins_with_any(name, prefixes) || begins_with_any(name, of_launcher))
      continue;
    settings.emplace(name, text.substr(name.size() + 1));
  }
  return settings;
}

EnvironmentSettings differing_settings(const EnvironmentSettings& first, const EnvironmentSettings& own) {
  EnvironmentSettings differing;
  for (const EnvironmentSettings* settings : {&first, &own}) {
    for (const auto& [name, unused] : *settings) {
      const std::string here = shown(own, name);
      if (here != shown(first, name) && std::ranges::find(of_one_rank, name) == of_one_rank.end())
        differing.emplace(name, here);
    }
  }
  return differing;
}

void warn_differing_settings(const Ranks& ranks) {
  const EnvironmentSettings own = as_sent(environment_settings());
  const EnvironmentSettings first = from_text(broadcast_text(ranks.world, text_of(own)));
  const std::vector<std::string> differing =
      gather_texts(ranks.world, text_of(differing_settings(first, own)));
  if (std::ranges::all_of(differing, [&](const std::string& text) { return text == differing[0]; })) return;
  const std::vector<std::string> hosts = gather_texts(ranks.world, host_name());
  EnvironmentSettings told;
  for (std::size_t rank = 1; rank < differing.size(); ++rank) {
    for (const auto& [name, value] : from_text(differing[rank])) {
      if (told.emplace(name, value).second)
        ranks.console.warn(
            "{} differs: {} on {} (rank 0), {} on {} (rank {}); ranks may use different transports", name,
            shown(first, name), hosts[0], value, hosts[rank], rank);
    }
  }
}

}  // namespace dt::comm
