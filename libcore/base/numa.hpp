#pragma once
// Memory that is near to some cores and far from others.

#include <filesystem>
#include <string>
#include <vector>

namespace dt {

/// Cores of a list as Linux writes it, "0-3,8": 0, 1, 2, 3, 8. What is no list is none.
std::vector<int> parse_core_list(const std::string& text);

/// Returns the NUMA domains that the cores lie on, in order, by the folders node0, node1, … of `nodes`; none
/// where the system does not say.
std::vector<int> numa_domains(const std::vector<int>& cores,
                              const std::filesystem::path& nodes = "/sys/devices/system/node");

/// Returns the NUMA domain that a PCI device is near to, such as the one at "0000:C1:00.0"; −1 where the
/// system does not say.
int numa_domain_of_pci(const std::string& address,
                       const std::filesystem::path& devices = "/sys/bus/pci/devices");

}  // namespace dt
