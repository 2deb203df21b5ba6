#include <dlfcn.h>
#include <map>
#include <mutex>
#include <string>

#include "base/error.hpp"
#include "kernels/cuda/launch/kernels.hpp"
#include "kernels/cuda/matmul/cublas_lt/library.cuh"
#include "tensor/cuda/check.cuh"

namespace dt::kernels::cuda::cublas_lt {

namespace {

template <class Function>
void find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  if (function == nullptr) throw Error(ErrorKind::environment, fmt::format("cuBLASLt: {}", ::dlerror()));
}

/// Loads the library. It stays loaded: a library that a driver knows must not be unloaded.
Library load() {
  std::string why_not;
  for (const char* name :
       {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so", "/usr/local/cuda/lib64/libcublasLt.so"}) {
    if (void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
      Library functions{};
#define DT_FIND(function) find(library, #function, functions.function);
      DT_CUBLAS_LT(DT_FIND)
#undef DT_FIND
      return functions;
    }
    why_not += fmt::format("; {}", ::dlerror());
  }
  throw Error(
      ErrorKind::environment,
      "products on a GPU take cuBLASLt of CUDA 13 or 12, which is not where the loader looks" + why_not,
      "name its folder in LD_LIBRARY_PATH");
}

}  // namespace

const Library& library() {
  static const Library loaded = load();
  return loaded;
}

cublasLtHandle_t handle_of(Device device) {
  static std::mutex mutex;
  static std::map<int, cublasLtHandle_t> handles;  // by the GPU's index
  const std::lock_guard lock(mutex);
  cublasLtHandle_t& handle = handles[device.index()];
  if (handle == nullptr) check(device, "cublasLtCreate", library().cublasLtCreate(&handle));
  return handle;
}

void check(Device device, const char* what, cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS)
    dt::cuda::fail(device, what, library().cublasLtGetStatusString(status));
}

}  // namespace dt::kernels::cuda::cublas_lt

namespace dt::kernels::cuda {

std::string matmul_library() {
  const std::size_t version = cublas_lt::library().cublasLtGetVersion();
  return fmt::format("cuBLASLt {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace dt::kernels::cuda
