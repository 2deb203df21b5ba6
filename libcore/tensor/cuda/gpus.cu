#include <cuda_runtime.h>
#include <mutex>

#include "base/error.hpp"
#include "base/host.hpp"
#include "tensor/cuda/gpus.hpp"

namespace dt::cuda {

namespace {

/// What the kernels are compiled for.
constexpr int least_major = 8;

/// 13000 → "13.0"
std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

/// As nvidia-smi writes it, but for its prefix. Of a part of a GPU (MIG) it is the part's own.
std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text;
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

Gpu describe(int index) {
  cudaDeviceProp properties{};
  char address[32] = "";
  int runtime = 0, driver = 0;
  cudaError_t error = cudaGetDeviceProperties(&properties, index);
  if (error == cudaSuccess) error = cudaDeviceGetPCIBusId(address, sizeof address, index);
  if (error != cudaSuccess)
    throw Error(ErrorKind::environment,
                fmt::format("GPU {} does not answer: {}", index, cudaGetErrorString(error)));
  cudaRuntimeGetVersion(&runtime);
  cudaDriverGetVersion(&driver);
  return {.name = properties.name,
          .id = uuid_text(properties.uuid),
          .address = address,
          .major = properties.major,
          .minor = properties.minor,
          .memory_bytes = properties.totalGlobalMem,
          .software = fmt::format("CUDA {}, driver for {}", version_text(runtime), version_text(driver))};
}

/// Error{environment}: why there is none.
int count_gpus() {
  int count = 0, driver = 0, runtime = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return count;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  if (driver == 0) throw Error(ErrorKind::environment, "there is no NVIDIA driver");
  if (error == cudaErrorInsufficientDriver) {
    throw Error(ErrorKind::environment,
                fmt::format("the NVIDIA driver is for CUDA {} or older, and this program is of CUDA {}",
                            version_text(driver), version_text(runtime)));
  }
  const auto visible = environment_variable("CUDA_VISIBLE_DEVICES");
  if (visible && (error == cudaSuccess || error == cudaErrorNoDevice))
    throw Error(ErrorKind::environment,
                fmt::format("CUDA_VISIBLE_DEVICES='{}' leaves no GPU to be seen", *visible));
  throw Error(ErrorKind::environment,
              fmt::format("the NVIDIA driver finds no GPU: {}", cudaGetErrorString(error)));
}

void require_recent(const Gpu& gpu) {
  if (gpu.major >= least_major) return;
  throw Error(ErrorKind::environment,
              fmt::format("{} ({}) is of compute capability {}.{}, and dt needs {}.0 or newer", gpu.name,
                          gpu.address, gpu.major, gpu.minor, least_major),
              "choose among GPUs with CUDA_VISIBLE_DEVICES");
}

struct Known {
  std::mutex mutex;
  std::vector<Gpu> gpus;
};
/// Outlives whatever still fails at the program's end.
Known& known() {
  static auto* const the_known = new Known;
  return *the_known;
}

}  // namespace

std::vector<Gpu> gpus() {
  const std::lock_guard lock(known().mutex);
  if (!known().gpus.empty()) return known().gpus;
  std::vector<Gpu> found;
  for (int index = 0, count = count_gpus(); index < count; ++index) {
    found.push_back(describe(index));
    require_recent(found.back());
  }
  return known().gpus = found;
}

std::string name_of(Device device) {
  const std::string name = fmt::format("{}: {}", host_name(), device.to_string());
  const std::lock_guard lock(known().mutex);
  const auto index = static_cast<std::size_t>(device.index());
  if (index >= known().gpus.size()) return name;
  return fmt::format("{} ({}, {})", name, known().gpus[index].name, known().gpus[index].address);
}

}  // namespace dt::cuda
