#include "base/system/numa.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace dt {

namespace fs = std::filesystem;

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

std::vector<int> numa_domains(const std::vector<int>& cores, const fs::path& nodes) {
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

int numa_domain_of_pci(const std::string& address, const fs::path& devices) {
  std::string folder;  // CUDA writes hexadecimal digits in upper case, Linux in lower case
  for (const char c : address) folder += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  int domain = -1;
  if (!folder.empty() && !(std::ifstream(devices / folder / "numa_node") >> domain)) return -1;
  return domain;
}

}  // namespace dt
