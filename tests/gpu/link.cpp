// Checks that nvcc's objects link into a program that starts without GPU and driver, and that a product
// then says what is missing. CUDA's errors of a GPU become errors that name it. Exit status: 77 if no GPU
// answers.

#include <array>
#include <cstdlib>
#include <iostream>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "gpu/no_device.hpp"
#include "kernels/arithmetic.hpp"
#include "kernels/cuda/launch/kernels.hpp"
#include "kernels/cuda/register_gpus.hpp"
#include "kernels/linear.hpp"
#include "tensor/cuda/check.cuh"
#include "tensor/cuda/kernel_loading.hpp"

namespace {

/// Returns the error of a product; "" if there is none.
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

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Returns whether the error names the host, the GPU, the operation and CUDA's name for it, and has that
/// advice ("": none).
bool is_told(cudaError_t error, const std::string& advice) {
  try {
    dt::cuda::check(dt::Device::gpu(1), "layer_norm", error);
  } catch (const dt::Error& told) {
    const std::string what = told.what();
    const bool names = has(what, dt::host_name() + ": cuda:1") && has(what, ": layer_norm: ") &&
                       has(what, cudaGetErrorName(error));
    const bool advises = advice.empty() ? told.context().empty() : has(told.context(), advice);
    return told.kind() == dt::ErrorKind::environment && names && advises;
  }
  return error == cudaSuccess;
}

/// Returns whether a library's error is reported, if CUDA reports none of the GPU.
bool is_told_of_libraries() {
  try {
    dt::cuda::fail(dt::Device::gpu(1), "cublasLtMatmul", "CUBLAS_STATUS_EXECUTION_FAILED");
  } catch (const dt::Error& told) {
    return has(told.what(), dt::host_name() + ": cuda:1") &&
           has(told.what(), ": cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED");
  }
}

bool all_are_told() {
  const std::string gpu = "the GPU has failed", kernel = "a kernel has failed";
  return is_told(cudaSuccess, "") && is_told(cudaErrorInvalidValue, "") &&
         is_told(cudaErrorECCUncorrectable, gpu) &&
         is_told(cudaErrorDevicesUnavailable, "Exclusive_Process") &&
         is_told(cudaErrorUnsupportedPtxVersion, "older than the nvcc") && is_told(cudaErrorNoDevice, gpu) &&
         is_told(cudaErrorUnknown, gpu) && is_told(cudaErrorUnknown, "Xid") &&
         is_told(cudaErrorIllegalAddress, kernel) && is_told(cudaErrorLaunchFailure, "Xid") &&
         is_told_of_libraries();
}

/// Returns the library that multiplies, or why it is not known.
std::string matmul_library() {
  try {
    return dt::kernels::matmul_library();
  } catch (const dt::Error& error) {
    return error.message();
  }
}

/// Returns whether an unset variable is set, and a set one stays.
bool sets_connections() {
  const auto after = [] {
    dt::kernels::cuda::register_gpus();
    return dt::environment_variable("CUDA_DEVICE_MAX_CONNECTIONS");
  };
  unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
  const bool is_set = after() == "32";
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1);
  return is_set && after() == "1";
}

/// Returns whether the kernels are listed; dt's have some hundred combinations of dtypes.
bool lists_kernels() {
  return dt::cuda::num_kernels() > 100;
}

}  // namespace

int main() {
  if (!lists_kernels()) {
    std::cout << dt::cuda::num_kernels()
              << " kernels of the program's are known, and would be loaded first\n";
    return 1;
  }
  if (!sets_connections()) {
    std::cout << "CUDA_DEVICE_MAX_CONNECTIONS is not what it should be\n";
    return 1;
  }
  if (!all_are_told()) {
    std::cout << "an error of a GPU's does not say what it should\n";
    return 1;
  }
  dt::test_device::NoDevice no_device;
  dt::set_accelerator(&no_device);
  dt::kernels::set_gpu_kernels(&dt::kernels::cuda::table);
  const std::string library = matmul_library();
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
