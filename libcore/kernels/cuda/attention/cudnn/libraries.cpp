#include "kernels/cuda/attention/cudnn/libraries.hpp"

#include <array>
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <linux/limits.h>
#include <vector>

namespace dt::kernels::cuda {

namespace {

std::string folder_of(void* library) {
  std::array<char, PATH_MAX> folder{};
  return ::dlinfo(library, RTLD_DI_ORIGIN, folder.data()) == 0 ? folder.data() : "";
}

std::vector<std::string> runtime_places(int cuda_major, const std::string& beside_cudnn) {
  const std::string name = runtime_name(cuda_major);
  std::vector<std::string> places{name};
  if (!beside_cudnn.empty()) {
    places.push_back(fmt::format("{}/{}", beside_cudnn, name));
    // Python's packages: nvidia/cudnn/lib beside nvidia/cu13/lib, or nvidia/cuda_runtime/lib of CUDA 12.
    places.push_back(fmt::format("{}/../../cu{}/lib/{}", beside_cudnn, cuda_major, name));
    places.push_back(fmt::format("{}/../../cuda_runtime/lib/{}", beside_cudnn, name));
  }
  places.push_back(fmt::format("/usr/local/cuda/lib64/{}", name));
  places.push_back(fmt::format("/usr/local/cuda-{}/lib64/{}", cuda_major, name));
  return places;
}

}  // namespace

const Loader& process_loader() {
  static const Loader loader{
      [](const std::string& name) { return ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); },
      [] {
        const char* const error = ::dlerror();
        return std::string(error != nullptr ? error : "unknown error");
      },
      folder_of};
  return loader;
}

std::string runtime_name(int cuda_major) {
  return fmt::format("libcudart.so.{}", cuda_major);
}

CudnnLibraries open_cudnn(const Loader& loader, int cuda_major, const std::string& asked) {
  void* cudnn = nullptr;
  for (const char* name : {"libcudnn.so.9", "/usr/local/cuda/lib64/libcudnn.so.9"})
    if (cudnn == nullptr) cudnn = loader.open(name);
  if (cudnn == nullptr) return {nullptr, "cannot load cuDNN (9 or newer; LD_LIBRARY_PATH)"};
  if (!asked.empty()) {
    if (loader.open(asked) != nullptr) return {cudnn, ""};
    return {nullptr,
            fmt::format("CUDNN_FRONTEND_CUDART_LIB_NAME names a CUDA runtime that cannot be loaded: {}",
                        loader.error())};
  }
  for (const std::string& place : runtime_places(cuda_major, loader.folder(cudnn)))
    if (loader.open(place) != nullptr && loader.open(runtime_name(cuda_major)) != nullptr) return {cudnn, ""};
  return {nullptr,
          fmt::format("cuDNN's front end needs the CUDA runtime {}, which is neither in LD_LIBRARY_PATH nor "
                      "beside cuDNN nor in /usr/local/cuda",
                      runtime_name(cuda_major))};
}

}  // namespace dt::kernels::cuda
