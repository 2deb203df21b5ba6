#pragma once
// NUMA domains of cores and devices.

#include <filesystem>
#include <string>
#include <vector>

namespace dt {

/// Returns the cores in a Linux list: "0-3,8" is 0, 1, 2, 3, 8. Returns none for any other text.
std::vector<int> parse_core_list(const std::string& text);

/// Returns the NUMA domains of the cores, in order, as the folders node0, node1, … of `nodes` tell.
/// Returns none if the system does not tell.
std::vector<int> numa_domains(const std::vector<int>& cores,
                              const std::filesystem::path& nodes = "/sys/devices/system/node");

/// Returns the NUMA domain that a PCI device, such as "0000:C1:00.0", is near to. Returns −1 if the
/// system does not tell.
int numa_domain_of_pci(const std::string& address,
                       const std::filesystem::path& devices = "/sys/bus/pci/devices");

}  // namespace dt
