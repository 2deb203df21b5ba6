#include "kernels/cuda/use.hpp"

#include <cstdlib>

#include "kernels/cuda/fused_attention.hpp"
#include "kernels/cuda/table.hpp"
#include "tensor/cuda/accelerator.hpp"

namespace dt::kernels::cuda {

void use_gpus() {
  // Each communicator has a stream of its own, and a stream that waits for other ranks holds up those that
  // share its hardware queue, of which CUDA takes 8 unless told otherwise: 32 is the most. Read when a
  // context is made, and set while the program has one thread, as setenv wants.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  prepare_fused_attention();
  set_accelerator(&dt::cuda::accelerator());
  set_gpu_kernels(&table);
}

}  // namespace dt::kernels::cuda
