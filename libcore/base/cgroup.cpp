#include "base/cgroup.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.hpp"

namespace dt {

namespace fs = std::filesystem;

namespace {

/// A hierarchy that is mounted: the folder `folder` shows the cgroup `shown` and those below it.
struct Hierarchy {
  fs::path folder;
  fs::path shown;
  bool is_v2 = false;
};

/// The hierarchies that account for memory.
std::vector<Hierarchy> memory_hierarchies(const fs::path& root) {
  std::vector<Hierarchy> found;
  std::ifstream in(root / "proc/self/mountinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream before(line.substr(0, dash)), after(line.substr(dash + 3));
    std::string number, parent, device, shown, folder, type, source, options;
    before >> number >> parent >> device >> shown >> folder;
    after >> type >> source >> options;
    const std::vector<std::string> words = split(options, ',');
    const bool is_v1 = type == "cgroup" && std::find(words.begin(), words.end(), "memory") != words.end();
    if (is_v1 || type == "cgroup2")
      found.push_back({root / fs::path(folder).relative_path(), shown, type == "cgroup2"});
  }
  return found;
}

/// This process's cgroup in such a hierarchy; "" where it is in none.
fs::path own_cgroup(const fs::path& root, bool is_v2) {
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {  // number:controllers:path
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::vector<std::string> controllers = split(line.substr(first + 1, second - first - 1), ',');
    const bool accounts = std::find(controllers.begin(), controllers.end(), "memory") != controllers.end();
    if (is_v2 ? controllers.empty() : accounts) return line.substr(second + 1);
  }
  return {};
}

/// None where the file is missing, or says "max".
std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::string text;
  std::ifstream(file) >> text;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::uint64_t> cgroup_memory_bytes(const fs::path& root) {
  std::optional<std::uint64_t> least;
  for (const Hierarchy& hierarchy : memory_hierarchies(root)) {
    // A container may see its own cgroup as the root, or others outside what is mounted: then the mount's is
    // it.
    fs::path cgroup = own_cgroup(root, hierarchy.is_v2).lexically_relative(hierarchy.shown);
    if (cgroup.empty() || *cgroup.begin() == "..") cgroup = ".";
    const char* name = hierarchy.is_v2 ? "memory.max" : "memory.limit_in_bytes";
    for (fs::path folder = cgroup;; folder = folder.parent_path()) {
      const auto limit = number_in(hierarchy.folder / folder / name);
      if (limit) least = std::min(*limit, least.value_or(*limit));
      if (folder.empty() || folder == ".") break;
    }
  }
  return least;
}

}  // namespace dt
