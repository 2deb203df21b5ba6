#pragma once
// The FLOP/s that a device can compute at most, where its maker says so. MFU refers to it.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.hpp"
#include "plan/plan.hpp"

namespace dt::plan {

/// Returns the dense peak of the GPU that CUDA names `name`, of products of `dtype`; fp32 also as TF32.
/// Nothing for a GPU that the table does not have, or a part of one (MIG).
std::optional<double> gpu_peak_flops(std::string_view name, DType dtype, Arithmetic arithmetic);

struct Processor {
  std::string vendor;  // as /proc/cpuinfo has it: AuthenticAMD
  int family = 0, model = 0;
  double max_hz = 0;  // the highest frequency that the system names; 0 where it names none
  int num_cores = 0;  // that have any of the hardware threads asked about
};

/// Describes the processor with these hardware threads, as /proc and /sys below `root` tell of it.
Processor describe_processor(const std::vector<int>& hardware_threads,
                             const std::filesystem::path& root = "/");

/// Returns cores × FLOPs a cycle × the highest frequency, for products of `dtype` by `threads` threads.
/// Nothing where any of these is not known for certain: virtual machines often tell no frequency.
std::optional<double> cpu_peak_flops(const Processor& processor, DType dtype, Arithmetic arithmetic,
                                     int threads);

/// Returns the peak of what this rank computes on: its share of a GPU that several ranks have.
std::optional<double> known_peak_flops(const Plan& plan);

}  // namespace dt::plan
