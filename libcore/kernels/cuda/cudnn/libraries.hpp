#pragma once
// Where cuDNN is, and the CUDA runtime that its C++ front end calls. The front end opens the runtime by a
// plain name when it first needs it, and throws where the loader has none, so that both are found before
// cuDNN is asked for anything.

#include <functional>
#include <string>

namespace dt::kernels::cuda {

/// What dlopen, dlerror and dlinfo do; tests have tables of their own.
struct Loader {
  std::function<void*(const std::string& name)> open;  // nullptr where it fails
  std::function<std::string()> error;                  // of the last open
  std::function<std::string(void* library)> folder;  // that it was loaded from; empty where that is not known
};
/// Opens libraries in this process; they stay loaded: a library that a driver knows of is not taken away.
const Loader& process_loader();

/// The name that the runtime of a major version of CUDA has for the loader: "libcudart.so.13".
std::string runtime_name(int cuda_major);

/// Both, or why not.
struct CudnnLibraries {
  void* cudnn = nullptr;  // null where either is missing
  std::string why_not;
};
/// Opens cuDNN 9 and the runtime: `asked`, the user's CUDNN_FRONTEND_CUDART_LIB_NAME, or where that is empty
/// the one of `cuda_major` that the process has loaded, that the loader finds, that lies beside cuDNN (of a
/// toolkit, or of Python's packages), or that lies in /usr/local. After that the loader finds the runtime by
/// its plain name, wherever it lies: it compares names with those of what is loaded.
CudnnLibraries open_cudnn(const Loader& loader, int cuda_major, const std::string& asked);

}  // namespace dt::kernels::cuda
