#include <atomic>
#include <cuda_runtime.h>
#include <mutex>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "tensor/cuda/gpus.hpp"

namespace dt::cuda {

namespace {

/// Returns the UUID as nvidia-smi prints it, without the prefix. A part of a GPU (MIG) has a UUID
/// of its own.
std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text;
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

Gpu describe(int ordinal) {
  cudaDeviceProp properties{};
  char address[32] = "";
  int runtime = 0, driver = 0;
  cudaError_t error = cudaGetDeviceProperties(&properties, ordinal);
  if (error == cudaSuccess) error = cudaDeviceGetPCIBusId(address, sizeof address, ordinal);
  if (error != cudaSuccess)
    throw Error(ErrorKind::environment,
                fmt::format("GPU {} does not respond: {}", ordinal, cudaGetErrorString(error)),
                "see nvidia-smi and dmesg on that host");
  cudaRuntimeGetVersion(&runtime);
  cudaDriverGetVersion(&driver);
  return {.name = properties.name,
          .id = uuid_text(properties.uuid),
          .address = address,
          .major = properties.major,
          .minor = properties.minor,
          .memory_bytes = properties.totalGlobalMem,
          .software =
              fmt::format("CUDA {}, driver for {}", cuda_version_text(runtime), cuda_version_text(driver)),
          .ordinal = ordinal};
}

DriverProbe::Kind kind_of(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return DriverProbe::Kind::gpus;
    case cudaErrorNoDevice:
      return DriverProbe::Kind::no_gpu;
    case cudaErrorInsufficientDriver:
      return DriverProbe::Kind::no_driver;
    case cudaErrorStubLibrary:
      return DriverProbe::Kind::stub;
    case cudaErrorSystemDriverMismatch:
      return DriverProbe::Kind::other_module;
    case cudaErrorCompatNotSupportedOnDevice:
      return DriverProbe::Kind::no_forward;
    case cudaErrorSystemNotReady:
      return DriverProbe::Kind::not_ready;
    default:
      return DriverProbe::Kind::other;
  }
}

std::mutex asking;
/// The GPUs that were found, never freed; null if no thread has asked, or there was none.
std::atomic<const std::vector<Gpu>*> found = nullptr;

const Gpu* known(Device device) {
  const std::vector<Gpu>* const gpus = found.load(std::memory_order_acquire);
  const auto index = static_cast<std::size_t>(device.index());
  return gpus != nullptr && index < gpus->size() ? &(*gpus)[index] : nullptr;
}

}  // namespace

DriverProbe probe_driver() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  DriverProbe answer{.kind = error == cudaSuccess && count == 0 ? DriverProbe::Kind::no_gpu : kind_of(error),
                     .said = cudaGetErrorString(error),
                     .visible = environment_variable("CUDA_VISIBLE_DEVICES")};
  cudaGetLastError();  // clears the error for the next call
  cudaDriverGetVersion(&answer.driver);
  cudaRuntimeGetVersion(&answer.runtime);
  if (answer.kind != DriverProbe::Kind::gpus) {
    answer.device_file = gpu_device_file();
    return answer;
  }
  for (int ordinal = 0; ordinal < count; ++ordinal) answer.gpus.push_back(describe(ordinal));
  return answer;
}

std::vector<Gpu> gpus() {
  const std::lock_guard lock(asking);
  if (found == nullptr) found = new std::vector<Gpu>(usable_gpus(probe_driver()));
  return *found;
}

int ordinal_of(Device device) {
  const Gpu* const gpu = known(device);
  return gpu != nullptr ? gpu->ordinal : device.index();
}

std::string device_label(Device device) {
  const std::string name = fmt::format("{}: {}:{}", host_name(), name_of(device.kind()), device.index());
  const Gpu* const gpu = known(device);
  return gpu != nullptr ? fmt::format("{} ({}, {})", name, gpu->name, gpu->address) : name;
}

}  // namespace dt::cuda
