#include "bench/nvlink.hpp"

#include <cstdint>
#include <map>

#include "tensor/device/gpu_probe.hpp"

namespace dt::bench {

namespace {

// Bandwidth of PCIe 5.0 each way on 16 lanes: 32 GT/s a lane, of which 128 of 130 bits are data. The
// slowest NVLink between GPUs of has_nvlink(), A800's, has 200 GB/s, and A100's 300.
// Source: PCI Express Base Specification 5.0; NVIDIA's data sheets of A100, A800, H100.
constexpr double pcie_gb_s = 63;
// Smaller messages take much of their time to start.
constexpr std::int64_t least_bytes = std::int64_t{8} << 20;

const DevicePlace& place_of(int rank, const std::vector<DevicePlace>& places) {
  return places[static_cast<std::size_t>(rank)];
}

/// Returns whether NVLink should carry the link's messages.
bool is_of_nvlink(const Link& link, const std::vector<DevicePlace>& places) {
  const DevicePlace &a = place_of(link.pair.a, places), &b = place_of(link.pair.b, places);
  return link.is_within_host && link.bytes >= least_bytes && a.address != b.address && has_nvlink(a.name) &&
         has_nvlink(b.name);
}

}  // namespace

std::vector<HostWithoutNvlink> hosts_without_nvlink(const std::vector<Link>& links,
                                                    const std::vector<DevicePlace>& places) {
  std::map<std::string, HostWithoutNvlink> by_host;
  for (const Link& link : links) {
    if (!is_of_nvlink(link, places)) continue;
    const DevicePlace& place = place_of(link.pair.a, places);
    HostWithoutNvlink& host = by_host[place.host];
    host.host = place.host;
    ++host.num_links;
    if (link.gb_s() > pcie_gb_s) continue;
    ++host.num_slow;
    if (link.gb_s() <= host.most_gb_s) continue;
    host.most_gb_s = link.gb_s();
    host.gpu = place.name;
  }
  std::vector<HostWithoutNvlink> hosts;
  for (const auto& [name, host] : by_host) {
    if (host.num_slow > 0) hosts.push_back(host);
  }
  return hosts;
}

}  // namespace dt::bench
