#pragma once
// Names for what the host does, in the tools of NVIDIA's that draw it (Nsight Systems): NVTX.

#include <string>

namespace dt::cuda {

/// Whether such a tool was there when this was first asked; where none is, ranges cost next to nothing.
bool has_audience();
/// See Accelerator.
void begin_range(const std::string& name);
void end_range();

}  // namespace dt::cuda
