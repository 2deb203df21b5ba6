#pragma once

namespace dt::kernels::cuda {

/// Makes NVIDIA's GPUs those of this program, with the kernels for them; CUDA_DEVICE_MAX_CONNECTIONS becomes
/// 32 unless it is set. Before the program has a second thread. Asks nothing of a driver.
void use_gpus();

}  // namespace dt::kernels::cuda
