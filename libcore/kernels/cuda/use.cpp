#include "kernels/cuda/use.hpp"

#include "kernels/cuda/table.hpp"
#include "tensor/cuda/accelerator.hpp"

namespace dt::kernels::cuda {

void use_gpus() {
  set_accelerator(&dt::cuda::accelerator());
  set_gpu_kernels(&table);
}

}  // namespace dt::kernels::cuda
