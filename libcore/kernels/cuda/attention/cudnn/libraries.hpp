#pragma once
// Finds cuDNN, and the CUDA runtime that its C++ front end calls. The front end opens the runtime by
// a plain name when it first needs it, and throws if the loader has none. So both are found before
// cuDNN is asked for anything.

#include <functional>
#include <string>

namespace dt::kernels::cuda {

/// The functions of dlopen, dlerror and dlinfo; tests have tables of their own.
struct Loader {
  std::function<void*(const std::string& name)> open;  // nullptr if it fails
  std::function<std::string()> error;                  // error of the last open
  std::function<std::string(void* library)> folder;    // folder that it was loaded from; empty if unknown
};
/// Returns a loader that opens libraries in this process. They stay loaded: a library that a driver
/// knows must not be unloaded.
const Loader& process_loader();

/// Returns the name that the runtime of a major version of CUDA has for the loader:
/// "libcudart.so.13".
std::string runtime_name(int cuda_major);

/// Both libraries, or why they are not there.
struct CudnnLibraries {
  void* cudnn = nullptr;  // null if either is missing
  std::string unavailable_reason;
};
/// Opens cuDNN 9 and the runtime. The runtime is `asked`, the user's
/// CUDNN_FRONTEND_CUDART_LIB_NAME. If that is empty, it is the first runtime of `cuda_major` found:
/// loaded in the process, found by the loader, beside cuDNN (in a toolkit or Python's packages), or
/// in /usr/local. Afterwards the loader finds the runtime by its plain name, wherever it lies, as
/// it compares names with those of loaded libraries.
CudnnLibraries open_cudnn(const Loader& loader, int cuda_major, const std::string& asked);

}  // namespace dt::kernels::cuda
