#pragma once

namespace dt::kernels::cuda {

/// Makes NVIDIA's GPUs those of this program, with the kernels for them. Asks nothing of a driver.
void use_gpus();

}  // namespace dt::kernels::cuda
