// The functions of CUDA's runtime that objects of nvcc call: their kernels go to the test device, as PTX.
// Nothing else of CUDA is linked with this.

#include "device/ptx/runtime.hpp"

#include <cstring>
#include <cuda_runtime_api.h>
#include <fatbinary_section.h>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/error.hpp"
#include "device/ptx/fat_binary.hpp"
#include "device/ptx/grid.hpp"
#include "device/ptx/module.hpp"
#include "device/test_device.hpp"
#include "tensor/cuda/check.cuh"
#include "tensor/device/accelerator.hpp"

namespace dt::ptx {

namespace {

/// An object's kernels, parsed when one of them is launched.
struct Object {
  const std::byte* fat_binary;
  std::unique_ptr<Module> module{};

  Module& read() {
    if (!module) module = std::make_unique<Module>(ptx_of(fat_binary));
    return *module;
  }
};

/// Objects and kernels, registered before main.
struct Registry {
  std::mutex mutex;
  std::vector<std::unique_ptr<Object>> objects;
  struct Function {
    Object* object;
    std::string name;
    std::int64_t launches = 0;
  };
  std::map<const void*, Function> functions;  // the key is the host's function
};
Registry& registry() {
  static auto* const the_registry = new Registry;
  return *the_registry;
}

const Kernel& kernel_of(const void* function) {
  const std::lock_guard lock(registry().mutex);
  const auto place = registry().functions.find(function);
  DT_CHECK(place != registry().functions.end(), "a kernel is launched that no object has");
  ++place->second.launches;
  return place->second.object->read().kernel(place->second.name);
}

/// Returns the device's allocation around an address; host memory is not accessible to kernels.
std::span<std::byte> find_memory(const std::byte* address) {
  const Allocations& allocations = accelerator().allocations();
  return allocations.has(address) ? allocations.around(address) : std::span<std::byte>();
}

void launch(const cudaLaunchConfig_t& config, const void* function, void** arguments) {
  DT_CHECK(config.numAttrs == 0, "launches with attributes are not known");
  const Kernel& kernel = kernel_of(function);
  const Grid grid{.blocks = {config.gridDim.x, config.gridDim.y, config.gridDim.z},
                  .threads = {config.blockDim.x, config.blockDim.y, config.blockDim.z},
                  .dynamic_bytes = config.dynamicSmemBytes};
  std::vector<std::byte> parameters(kernel.parameter_bytes);
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i)
    std::memcpy(parameters.data() + kernel.parameters[i].offset, arguments[i], kernel.parameters[i].bytes);
  test_device::run_on_stream(
      reinterpret_cast<Stream>(config.stream),
      [&kernel, grid, parameters](std::uint64_t seed) { run(kernel, grid, parameters, find_memory, seed); });
}

}  // namespace

std::vector<std::string> kernels_never_launched() {
  std::map<std::string, std::int64_t> launches;  // key: name, as objects may have the same kernel of a header
  for (const auto& [address, function] : registry().functions) launches[function.name] += function.launches;
  std::vector<std::string> names;
  for (const auto& [name, count] : launches) {
    if (count == 0) names.push_back(name);
  }
  return names;
}

}  // namespace dt::ptx

// NOLINTBEGIN: these names are CUDA's. Source: crt/host_runtime.h, cuda_runtime_api.h
extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  const auto& fat_binary = *static_cast<const __fatBinC_Wrapper_t*>(wrapper);
  auto& objects = dt::ptx::registry().objects;
  objects.push_back(std::make_unique<dt::ptx::Object>(reinterpret_cast<const std::byte*>(fat_binary.data)));
  return reinterpret_cast<void**>(objects.back().get());
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}

void __cudaRegisterFunction(void** object, const char* host, char*, const char* name, int, void*, void*,
                            void*, void*, int*) {
  dt::ptx::registry().functions[host] = {reinterpret_cast<dt::ptx::Object*>(object), name};
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  dt::ptx::launch(*config, function, arguments);
  return cudaSuccess;
}

// Called by <<<…>>>, which dt does not use.
cudaError_t __cudaGetKernel(void*, const void*) {
  return cudaErrorNotSupported;
}
cudaError_t __cudaLaunchKernel(void*, dim3, dim3, void**, std::size_t, cudaStream_t) {
  return cudaErrorNotSupported;
}
unsigned __cudaPopCallConfiguration(dim3*, dim3*, std::size_t*, void*) {
  return cudaErrorNotSupported;
}
}
// NOLINTEND

namespace dt::cuda {

void check(Device, const char* doing, cudaError_t error) {
  DT_CHECK(error == cudaSuccess, "{}: CUDA's error {}", doing, static_cast<int>(error));
}

void select(Device, const char*) {}

}  // namespace dt::cuda
