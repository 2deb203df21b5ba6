#include <algorithm>

#include "base/error.hpp"
#include "tensor/cuda/check.cuh"
#include "tensor/cuda/gpus.hpp"

namespace dt::cuda {

namespace {

thread_local int used = 0;

/// Those after which a GPU, or what this process has on it, is of no use any more. Source: CUDA's
/// documentation of cudaError_t.
bool has_failed(cudaError_t error) {
  constexpr cudaError_t failures[] = {
      cudaErrorECCUncorrectable,   cudaErrorNvlinkUncorrectable, cudaErrorHardwareStackError,
      cudaErrorIllegalInstruction, cudaErrorMisalignedAddress,   cudaErrorInvalidPc,
      cudaErrorIllegalAddress,     cudaErrorLaunchFailure,       cudaErrorLaunchTimeout,
      cudaErrorDevicesUnavailable, cudaErrorSystemNotReady,      cudaErrorUnknown};
  return std::ranges::find(failures, error) != std::end(failures);
}

}  // namespace

void check(Device device, const char* doing, cudaError_t error) {
  if (error == cudaSuccess) return;
  cudaGetLastError();
  throw Error(ErrorKind::environment,
              fmt::format("{}: {}: {} ({})", name_of(device), doing, cudaGetErrorString(error),
                          cudaGetErrorName(error)),
              has_failed(error)
                  ? "the GPU, or work on it, has failed: start the job again, on another node if it "
                    "happens again (dmesg names Xid errors)"
                  : "");
}

void select(Device device) {
  used = device.index();
  check(device, "opening", cudaSetDevice(device.index()));
}

Device selected() {
  return Device::gpu(used);
}

}  // namespace dt::cuda
