#pragma once
// Finds the peak FLOP/s of a device, if its maker publishes it. MFU refers to this peak.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/numeric/dtype.hpp"
#include "comm/communicator.hpp"
#include "plan/plan.hpp"

namespace dt::plan {

/// Returns the dense peak of the GPU that CUDA names `name`, for products of `dtype`; fp32 also as
/// TF32. Returns nothing for a GPU that the table does not have, or for a part of one (MIG).
std::optional<double> gpu_peak_flops(std::string_view name, DType dtype, Arithmetic arithmetic);

struct CpuInfo {
  std::string vendor;  // name in /proc/cpuinfo: AuthenticAMD
  int family = 0, model = 0;
  double max_hz = 0;  // highest frequency that the system names; 0 if it names none
  int num_cores = 0;  // cores with any of the given hardware threads
};

/// Describes the processor with these hardware threads, as /proc and /sys below `root` describe it.
CpuInfo describe_processor(const std::vector<int>& hardware_threads, const std::filesystem::path& root = "/");

/// Returns cores × FLOPs a cycle × the highest frequency, for products of `dtype` by `threads`
/// threads. Returns nothing if any of these is uncertain: virtual machines often report no
/// frequency.
std::optional<double> cpu_peak_flops(const CpuInfo& processor, DType dtype, Arithmetic arithmetic,
                                     int threads);

/// Returns the peak of this rank's device. A rank that shares a GPU has its share of the GPU's peak.
std::optional<double> known_peak_flops(const Plan& plan);

/// The peak of all ranks together, which MFU refers to.
struct PeakFlops {
  double flops = 0;
  std::string base;  // "peak", or "measured": the rate of matrix products here
};

/// Returns --peak-flops for each rank, else the sum of the ranks' known peaks. If a rank's peak is
/// unknown, measures the matmul rate of all ranks, each on the device of its `context`.
/// Collective: all ranks of `world`. Blocks.
PeakFlops find_peak_flops(const Plan& plan, const Context& context, comm::Communicator& world);

}  // namespace dt::plan
