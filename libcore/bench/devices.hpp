#pragma once
// Measures how fast each rank's device is by itself.

#include <array>
#include <string>
#include <vector>

#include "bench/measure.hpp"
#include "bench/time_limit.hpp"

namespace dt::bench {

/// The place where a rank measures: a GPU, or the rank's share of its host's cores.
struct DevicePlace {
  std::string host;
  std::string device;     // "cuda:0", numbered among those that the rank may see; "cpu"
  std::string name;       // "NVIDIA H200"; for cores their instruction set
  std::string address{};  // a GPU's, on its host's bus

  /// Returns "n1, cuda:0 (NVIDIA H200, 0000:01:00.0)".
  std::string describe() const;
};

/// A quantity that is measured of a device. GPUs multiply in bf16, cores in fp32. GPUs copy within
/// their own memory, and to and from pinned memory of their host. Cores copy within their memory alone.
struct DeviceMetric {
  const char* name;
  const char* key;  // with the unit, for programs
  const char* unit;
};
inline constexpr std::array<DeviceMetric, 4> device_metrics = {{{"product", "product_tflop_s", "TFLOP/s"},
                                                                {"copy", "copy_gb_s", "GB/s"},
                                                                {"to host", "to_host_gb_s", "GB/s"},
                                                                {"from host", "from_host_gb_s", "GB/s"}}};
/// Rates in the metrics' units; 0: not measured.
using DeviceRates = std::array<double, device_metrics.size()>;

struct RankedDevice {
  int rank = 0;
  DevicePlace place{};
  DeviceRates rates{};
  std::array<RelativeRate, device_metrics.size()> standings{};  // among devices of the same name

  bool is_slow() const;
};

struct DeviceSettings {
  std::int64_t copy_bytes = 0;
  MeasureSettings measure;
  double product_s = 1;   // duration of the products that warm up, and also of those measured
  double slow_below = 0;  // fraction of the median
};

/// Measures the devices of all ranks. Returns them by rank, the same on all ranks. All ranks
/// multiply and copy at once, as they would in training, since heat and power affect the rates.
/// Copies to and from a host's memory take turns on that host, since devices may share the path.
/// Calls limit.begin() for each part.
/// Collective: all ranks call it, each with the context that it computes with.
std::vector<RankedDevice> measure_devices(comm::Communicator& group, const Context& context,
                                          const DeviceSettings& settings,
                                          const std::vector<DevicePlace>& places, Workspace& workspace,
                                          DeadlineTimer& limit);

}  // namespace dt::bench
