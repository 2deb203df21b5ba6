#include "kernels/dispatch.hpp"

#include "base/error.hpp"

namespace dt::kernels {

namespace {
const GpuKernels* the_kernels = nullptr;
}  // namespace

const GpuKernels& gpu_kernels() {
  DT_CHECK(the_kernels != nullptr, "this program has no GPU kernels");
  return *the_kernels;
}

const GpuKernels& gpu_kernels(const Context& context) {
  context.throttle();
  return gpu_kernels();
}

void set_gpu_kernels(const GpuKernels* kernels) {
  the_kernels = kernels;
}

}  // namespace dt::kernels
