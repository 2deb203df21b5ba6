#pragma once
// Tells from a GPU's name how GPUs of its kind are connected within a host.

#include <string>

namespace dt {

/// Returns whether every two GPUs of this name in one host are connected by NVLink: "NVIDIA H100 80GB HBM3"
/// are, "NVIDIA H100 PCIe" are not.
bool has_nvlink(const std::string& gpu);

}  // namespace dt
