#pragma once
// Finds which of the GPUs that a driver reports this program can use, and why it can use none. Also derives
// from a GPU's name how GPUs of its kind are connected within a host.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "tensor/device/accelerator.hpp"

namespace dt {

/// CUDA's answer to the question which GPUs there are.
struct DriverProbe {
  enum class Kind {
    gpus,          // `gpus`
    no_gpu,        // the driver reports no GPU
    no_driver,     // its library is missing, or is older than the program's CUDA
    stub,          // in place of the driver's library the loader found a toolkit's stub
    other_module,  // the driver's library and its kernel module are of different versions
    no_forward,    // the library of cuda-compat does not support these GPUs
    not_ready,     // a service that the GPUs need does not run
    other          // `said`
  };
  Kind kind = Kind::no_gpu;
  std::string said{};                    // CUDA's message
  int driver = 0, runtime = 0;           // CUDA versions of the driver (0: no driver) and the program
  std::optional<std::string> visible{};  // CUDA_VISIBLE_DEVICES
  std::string device_file{};             // a GPU's file that this process may open; empty: there is none
  std::vector<Gpu> gpus{};               // by ordinal
};

/// Reports that this program has no GPU. It may then compute on CPUs.
class NoGpu : public Error {
 public:
  explicit NoGpu(const std::string& why) : Error(ErrorKind::environment, why) {}
};

/// Returns the GPUs of compute capability 8.0 or newer.
/// Errors: NoGpu, there is none or CUDA_VISIBLE_DEVICES hides all; environment, with the reason and
/// the remedy, none of the GPUs can be used.
std::vector<Gpu> usable_gpus(const DriverProbe& answer);

/// Returns "13.0" for 13000.
std::string cuda_version_text(int version);

/// Returns the first device file of a GPU that this process may open: "/dev/nvidia0", or "/dev/dxg"
/// in WSL. Returns an empty text if there is none. Opening one can take a second, for it may wake
/// the GPU.
std::string gpu_device_file(const std::filesystem::path& folder = "/dev");

/// Returns whether NVLink connects every two GPUs of this name in a host. It connects those named
/// "NVIDIA H100 80GB HBM3", not those named "NVIDIA H100 PCIe".
bool has_nvlink(const std::string& gpu);

}  // namespace dt
