#include "kernels/cuda/register_gpus.hpp"

#include <cstdlib>

#include "kernels/cuda/attention/fused_attention.hpp"
#include "kernels/cuda/launch/kernels.hpp"
#include "tensor/cuda/accelerator.hpp"

namespace dt::kernels::cuda {

void register_gpus() {
  // Each communicator has a stream of its own. A stream that waits for other ranks holds up those
  // that share its hardware queue. CUDA takes 8 queues unless told otherwise, and at most 32. It
  // reads the variable when a context is made. setenv is safe only while the program has one
  // thread.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  prepare_fused_attention();
  set_accelerator(&dt::cuda::accelerator());
  set_gpu_kernels(&table);
}

}  // namespace dt::kernels::cuda
