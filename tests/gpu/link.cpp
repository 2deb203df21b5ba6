// What nvcc makes links into a program that starts without GPU and driver, and a product then says what is
// missing. Exit status: 77 where no GPU answers.

#include <array>
#include <cuda_runtime_api.h>
#include <iostream>

#include "base/error.hpp"
#include "kernels/cuda/table.hpp"
#include "kernels/linear.hpp"

namespace {

/// Has a stream to be named and no memory: what runs on it fails before it begins.
class NoDevice final : public dt::Accelerator {
 public:
  std::vector<dt::Gpu> gpus() override { return {}; }
  std::size_t free_bytes(dt::Device) override { return 0; }
  std::byte* allocate(dt::Device, std::size_t) override { throw dt::environment_error("no memory"); }
  void release(dt::Device, std::byte*) override {}
  std::byte* allocate_pinned(std::size_t) override { throw dt::environment_error("no memory"); }
  void release_pinned(std::byte*) override {}
  dt::Stream open_stream(dt::Device) override { return nullptr; }
  void close(dt::Stream) override {}
  void copy(dt::Stream, std::byte*, const std::byte*, std::size_t) override {}
  void zero(dt::Stream, std::byte*, std::size_t) override {}
  std::unique_ptr<dt::Mark> mark(dt::Stream) override { return nullptr; }
  void follow(dt::Stream, dt::Stream) override {}
  void wait(dt::Stream) override {}
};

/// What a product says; empty where it says nothing.
std::string refusal() {
  std::array<float, 4> elements{};
  const dt::Tensor matrix(elements.data(), dt::DType::f32, {2, 2}, dt::Device::gpu(0));
  try {
    const dt::Context context(1, dt::Device::gpu(0));
    dt::kernels::linear(context, matrix, matrix, dt::Tensor(), dt::Tensor(), matrix);
  } catch (const dt::Error& error) {
    if (error.kind() == dt::ErrorKind::environment) return error.message();
  }
  return "";
}

/// What multiplies, or why it cannot be said.
std::string product_library() {
  try {
    return dt::kernels::product_library();
  } catch (const dt::Error& error) {
    return error.message();
  }
}

}  // namespace

int main() {
  NoDevice no_device;
  dt::set_accelerator(&no_device);
  dt::kernels::set_gpu_kernels(&dt::kernels::cuda::table);
  const std::string library = product_library();
  if (library.find("cuBLASLt") == std::string::npos) {
    std::cout << "what multiplies is \"" << library << "\", and neither cuBLASLt nor what is missing of it\n";
    return 1;
  }
  int gpus = 0;
  const cudaError_t error = cudaGetDeviceCount(&gpus);
  if (error == cudaSuccess && gpus > 0) {
    std::cout << gpus << " GPUs answer; products: " << library << "\n";
    return 0;
  }
  const std::string why = refusal();
  if (why.find("ublasLt") == std::string::npos || why.find("undefined symbol") != std::string::npos) {
    std::cout << "a product without a GPU says \"" << why << "\", not what is missing of cuBLASLt\n";
    return 1;
  }
  std::cout << "SKIP: no GPU answers: " << cudaGetErrorString(error) << "; products: " << library
            << "; one says: " << why << "\n";
  return 77;
}
