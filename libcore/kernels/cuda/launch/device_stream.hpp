#pragma once
// Names the device and stream of a GPU's work. Deferred work does not ask a context, which may be
// gone.

#include "tensor/context.hpp"
#include "tensor/cuda/check.cuh"

namespace dt::kernels::cuda {

struct DeviceStream {
  Device device;
  Stream stream;

  explicit DeviceStream(const Context& context) : device(context.device()), stream(context.stream()) {}
  cudaStream_t native() const { return reinterpret_cast<cudaStream_t>(stream); }
  /// Makes its GPU the current one of this thread, which may be one of several ranks.
  void select_device(const char* what) const { dt::cuda::select(device, what); }
};

}  // namespace dt::kernels::cuda
