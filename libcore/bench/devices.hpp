#pragma once
// How fast each rank's device is by itself.

#include <array>
#include <string>
#include <vector>

#include "bench/measure.hpp"
#include "bench/slow.hpp"
#include "bench/time_limit.hpp"

namespace dt::bench {

/// Where a rank measures: a GPU, or what it has of its host's cores.
struct Place {
  std::string host;
  std::string device;     // "cuda:0", among those that the rank may see; "cpu"
  std::string name;       // "NVIDIA H200"; of cores their instruction set
  std::string address{};  // of a GPU, on its host's bus

  /// "n1, cuda:0 (NVIDIA H200, 0000:01:00.0)"
  std::string describe() const;
};

/// What is measured of a device. GPUs multiply in bf16, cores in fp32. Copies: within its own memory; to and
/// from memory of its host that is pinned, which cores do not make.
struct DeviceMetric {
  const char* name;
  const char* key;  // with the unit, for programs
  const char* unit;
};
inline constexpr std::array<DeviceMetric, 4> device_metrics = {{{"product", "product_tflop_s", "TFLOP/s"},
                                                                {"copy", "copy_gb_s", "GB/s"},
                                                                {"to host", "to_host_gb_s", "GB/s"},
                                                                {"from host", "from_host_gb_s", "GB/s"}}};
/// In the metrics' units; 0: not measured.
using DeviceRates = std::array<double, device_metrics.size()>;

struct RankedDevice {
  int rank = 0;
  Place place{};
  DeviceRates rates{};
  std::array<Standing, device_metrics.size()> standings{};  // among devices of the same name

  bool is_slow() const;
};

struct DeviceSettings {
  std::int64_t copy_bytes = 0;
  MeasureSettings measure;
  double product_s = 1;   // for which it multiplies to become warm, and again to be measured
  double slow_below = 0;  // what fraction of the median
};

/// Called by all ranks together, each with the context that it computes with: by rank, the same on all. All
/// multiply and copy at once, as they would in training, for heat and power are part of the answer; copies to
/// and from a host take turns there, as devices may share the way. `limit` is begun with each part.
std::vector<RankedDevice> measure_devices(comm::Communicator& group, const Context& context,
                                          const DeviceSettings& settings, const std::vector<Place>& places,
                                          Workspace& workspace, TimeLimit& limit);

}  // namespace dt::bench
