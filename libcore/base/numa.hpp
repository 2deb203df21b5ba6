#pragma once
// Memory that is near to some cores and far from others.

#include <filesystem>
#include <string>
#include <vector>

namespace dt {

/// Cores of a list as Linux writes it, "0-3,8": 0, 1, 2, 3, 8. What is no list is none.
std::vector<int> parse_core_list(const std::string& text);

/// How many NUMA domains the cores lie on, by the folders node0, node1, … of `nodes`; 1 where the system does
/// not say.
int num_numa_domains(const std::vector<int>& cores,
                     const std::filesystem::path& nodes = "/sys/devices/system/node");

}  // namespace dt
