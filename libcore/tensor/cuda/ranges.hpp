#pragma once
// Names what the host does, for NVIDIA's tools that draw it (Nsight Systems): NVTX.

#include <string>

namespace dt::cuda {

/// Returns whether such a tool was there at the first call. If there is none, ranges cost next to
/// nothing.
bool has_audience();
/// See Accelerator::begin_range.
void begin_range(const std::string& name);
void end_range();

}  // namespace dt::cuda
