#include <vector>

#include "tensor/cuda/check.cuh"
#include "tensor/cuda/kernel_loading.hpp"

namespace {

/// The kernels of all sources, one source after the other. Filled before main; only read from then on.
std::vector<const void*>& kernels() {
  static std::vector<const void*> all;
  return all;
}

}  // namespace

// NOLINTBEGIN: these names are CUDA's The code that nvcc makes of a source registers each of its
// kernels with CUDA's runtime by this function (crt/host_runtime.h). The linker redirects the calls
// here (--wrap, in kernels/cuda/cuda.cmake).
extern "C" {
void __real___cudaRegisterFunction(void** fat_binary, const char* host_function, char* device_function,
                                   const char* name, int thread_limit, uint3* thread, uint3* block,
                                   dim3* block_size, dim3* grid_size, int* warp_size);
void __wrap___cudaRegisterFunction(void** fat_binary, const char* host_function, char* device_function,
                                   const char* name, int thread_limit, uint3* thread, uint3* block,
                                   dim3* block_size, dim3* grid_size, int* warp_size) {
  kernels().push_back(host_function);
  __real___cudaRegisterFunction(fat_binary, host_function, device_function, name, thread_limit, thread, block,
                                block_size, grid_size, warp_size);
}
}
// NOLINTEND

namespace dt::cuda {

std::size_t num_kernels() {
  return kernels().size();
}

void load_kernels(Device device) {
  select(device);
  for (const void* const kernel : kernels()) {
    cudaFuncAttributes attributes{};
    check(device, "loading kernels", cudaFuncGetAttributes(&attributes, kernel));
  }
}

}  // namespace dt::cuda
