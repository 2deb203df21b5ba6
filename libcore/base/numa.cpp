#include "base/numa.hpp"

#include <algorithm>
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

int num_numa_domains(const std::vector<int>& cores, const fs::path& nodes) {
  std::error_code error;
  int domains = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(nodes, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("node")) continue;
    std::string list;
    std::getline(std::ifstream(entry.path() / "cpulist") >> std::ws, list);
    const std::vector<int> near = parse_core_list(list);
    if (std::ranges::any_of(cores, [&](int core) { return std::ranges::count(near, core) > 0; })) ++domains;
  }
  return std::max(1, domains);
}

}  // namespace dt
