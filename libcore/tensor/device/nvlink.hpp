#pragma once
// Derives from a GPU's name how GPUs of its kind are connected within a host.

#include <string>

namespace dt {

/// Returns whether NVLink connects every two GPUs of this name in a host. It connects those named
/// "NVIDIA H100 80GB HBM3", not those named "NVIDIA H100 PCIe".
bool has_nvlink(const std::string& gpu);

}  // namespace dt
