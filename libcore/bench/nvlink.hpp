#pragma once
// Finds hosts whose GPUs have NVLink and do not use it.

#include <string>
#include <vector>

#include "bench/devices.hpp"
#include "bench/links.hpp"

namespace dt::bench {

/// A host of GPUs that have NVLink (tensor/device/gpu_probe.hpp), some of whose links are no faster than
/// PCIe.
struct HostWithoutNvlink {
  std::string host;
  std::string gpu;       // name of the GPUs of the fastest of these links
  int num_links = 0;     // between its GPUs
  int num_slow = 0;      // links no faster than PCIe
  double most_gb_s = 0;  // the fastest of the slow links, each way
};

/// Returns the hosts whose GPUs have NVLink and do not use it, in order. A comparison with the median
/// does not find them: if all links are equally slow, none is below it. Ignores messages that are too
/// small to tell.
std::vector<HostWithoutNvlink> hosts_without_nvlink(const std::vector<Link>& links,
                                                    const std::vector<DevicePlace>& places);

}  // namespace dt::bench
