#include "base/system/host.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fmt/core.h>
#include <fstream>
#include <memory>
#include <sched.h>
#include <sstream>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/system/limits.hpp"

namespace dt {

namespace fs = std::filesystem;

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) throw system_error(errno, "get", "the host's name");
  return name.data();
}

std::vector<int> available_core_numbers() {
  // sched_getaffinity() fails with EINVAL if the node has more cores than the mask holds. The mask
  // then grows.
  for (int cores = 1024; cores <= 1 << 20; cores *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> mask(CPU_ALLOC(static_cast<std::size_t>(cores)),
                                                                [](cpu_set_t* set) { CPU_FREE(set); });
    if (!mask) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cores));
    if (sched_getaffinity(0, bytes, mask.get()) == 0) {
      std::vector<int> numbers;
      for (int core = 0; core < cores; ++core) {
        if (CPU_ISSET_S(static_cast<std::size_t>(core), bytes, mask.get())) numbers.push_back(core);
      }
      return numbers;
    }
    if (errno != EINVAL) break;
  }
  return {0};
}

int available_cores() {
  const int cores = static_cast<int>(available_core_numbers().size());
  const auto quota = cgroup_cpu_quota();
  return quota ? std::min(cores, static_cast<int>(std::ceil(std::min(quota->cpus, 1e6)))) : cores;
}

std::string describe_ignored_omp_num_threads(int threads) {
  const auto asked = environment_variable("OMP_NUM_THREADS");
  // A list is for nested teams; its first number is the outermost team's.
  if (!asked || std::atoi(asked->c_str()) == threads) return {};
  return fmt::format("OMP_NUM_THREADS={} is ignored: {} thread{} used; --threads sets the number", *asked,
                     threads, threads == 1 ? " is" : "s are");
}

std::uint64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

void reset_peak_resident() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

std::uint64_t usable_memory_bytes() {
  const std::uint64_t host =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return std::min(host, cgroup_memory_bytes().value_or(host));
}

std::optional<std::string> environment_variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

int launcher_rank() {
  const bool is_srun = environment_variable("SLURM_STEP_NUM_TASKS").value_or("1") != "1";
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "PALS_RANKID", "SLURM_PROCID"}) {
    if (std::string_view(name).starts_with("SLURM") && !is_srun) continue;
    if (const auto value = environment_variable(name)) return std::atoi(value->c_str());
  }
  return 0;
}

int launcher_local_size() {
  for (const char* name :
       {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE", "PALS_LOCAL_SIZE"}) {
    if (const auto value = environment_variable(name)) return std::max(0, std::atoi(value->c_str()));
  }
  // "4(x2),3" lists tasks per host. If all hosts have the same number, the first number is also
  // this host's.
  const auto tasks = environment_variable("SLURM_STEP_TASKS_PER_NODE");
  if (!tasks || tasks->find(',') != std::string::npos) return 0;
  return std::max(0, std::atoi(tasks->c_str()));
}

double monotonic_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string utc_timestamp() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::vector<int> parse_core_list(const std::string& text) {
  std::vector<int> cores;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    std::istringstream range(item);
    int first = 0;
    if (!(range >> first)) continue;
    int last = first;
    if (range.get() == '-' && !(range >> last)) continue;
    for (int core = first; core <= last; ++core) cores.push_back(core);
  }
  return cores;
}

std::vector<int> numa_domains(const std::vector<int>& cores, const std::string& nodes) {
  std::error_code error;
  std::vector<int> domains;
  for (const fs::directory_entry& entry : fs::directory_iterator(nodes, error)) {
    const std::string name = entry.path().filename();
    int domain = 0;
    if (std::sscanf(name.c_str(), "node%d", &domain) != 1) continue;
    std::string list;
    std::getline(std::ifstream(entry.path() / "cpulist") >> std::ws, list);
    const std::vector<int> near = parse_core_list(list);
    if (std::ranges::any_of(cores, [&](int core) { return std::ranges::count(near, core) > 0; }))
      domains.push_back(domain);
  }
  std::ranges::sort(domains);
  return domains;
}

int numa_domain_of_pci(const std::string& address, const std::string& devices) {
  std::string folder;  // CUDA writes hexadecimal digits in upper case, Linux in lower case
  for (const char c : address) folder += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  int domain = -1;
  if (!folder.empty() && !(std::ifstream(fs::path(devices) / folder / "numa_node") >> domain)) return -1;
  return domain;
}

}  // namespace dt
