#pragma once
// Names the host's activity by NVTX ranges, for NVIDIA's profilers (Nsight Systems).

#include <string>

namespace dt::cuda {

/// Returns whether such a profiler was attached at the first call. Without one, ranges cost next to
/// nothing.
bool profiler_attached();
/// See Accelerator::begin_range.
void begin_range(const std::string& name);
void end_range();

}  // namespace dt::cuda
