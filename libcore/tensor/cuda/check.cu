#include <algorithm>

#include "base/error.hpp"
#include "tensor/cuda/check.cuh"
#include "tensor/cuda/gpus.hpp"

namespace dt::cuda {

namespace {

thread_local int used = 0;

template <std::size_t count>
bool is_one_of(const cudaError_t (&errors)[count], cudaError_t error) {
  return std::ranges::find(errors, error) != std::end(errors);
}

// The caller had a GPU before, so finding none is a failure, too.
// Source: CUDA's documentation of cudaError_t, for both lists.
constexpr cudaError_t gpu_failures[] = {
#if CUDART_VERSION >= 13000
    cudaErrorContained,
#endif
    cudaErrorECCUncorrectable, cudaErrorNvlinkUncorrectable, cudaErrorHardwareStackError,
    cudaErrorNoDevice,         cudaErrorInvalidDevice,       cudaErrorSystemNotReady,
    cudaErrorUnknown};
constexpr cudaError_t kernel_failures[] = {cudaErrorIllegalAddress,      cudaErrorMisalignedAddress,
                                           cudaErrorInvalidAddressSpace, cudaErrorIllegalInstruction,
                                           cudaErrorInvalidPc,           cudaErrorAssert,
                                           cudaErrorLaunchFailure,       cudaErrorLaunchTimeout};

const char* remedy(cudaError_t error) {
  if (error == cudaErrorDevicesUnavailable)
    return "another process uses the GPU, or its compute mode prohibits use: nvidia-smi -q -d COMPUTE,PIDS "
           "shows the mode and the processes; in the mode Exclusive_Process start one rank per GPU, or set "
           "the mode to Default";
  // For GPUs newer than those that dt has code for, the driver compiles the PTX that nvcc left.
  if (error == cudaErrorUnsupportedPtxVersion)
    return "the driver is older than the nvcc that built dt: update the driver, or build dt with an nvcc "
           "that is not newer than the driver's CUDA";
  if (is_one_of(gpu_failures, error))
    return "the GPU has failed: dmesg and nvidia-smi -q on that host show Xid errors; start the job again, "
           "on another node if it happens again";
  if (is_one_of(kernel_failures, error))
    return "a kernel has failed, now or earlier: if dmesg or nvidia-smi -q on that host show Xid errors of "
           "memory or links, the GPU is faulty, otherwise dt; start the job again, on another node if it "
           "happens again";
  return "";
}

}  // namespace

void check(Device device, const char* doing, cudaError_t error) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // clears the error for the next call
  throw Error(ErrorKind::environment,
              fmt::format("{}: {}: {} ({})", device_label(device), doing, cudaGetErrorString(error),
                          cudaGetErrorName(error)),
              remedy(error));
}

void fail(Device device, const char* doing, const std::string& said) {
  const cudaError_t beneath = cudaGetLastError();
  if (*remedy(beneath) != '\0') check(device, doing, beneath);
  throw Error(ErrorKind::environment, fmt::format("{}: {}: {}", device_label(device), doing, said));
}

void select(Device device, const char* doing) {
  used = device.index();
  check(device, doing, cudaSetDevice(ordinal_of(device)));
}

Device selected() {
  return Device::gpu(used);
}

}  // namespace dt::cuda
