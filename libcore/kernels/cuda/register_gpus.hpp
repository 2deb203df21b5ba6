#pragma once

namespace dt::kernels::cuda {

/// Makes NVIDIA's GPUs those of this program, with the kernels for them.
/// CUDA_DEVICE_MAX_CONNECTIONS becomes 32 unless it is set. Does not call a driver.
/// Thread safety: call before the program has a second thread.
void register_gpus();

}  // namespace dt::kernels::cuda
