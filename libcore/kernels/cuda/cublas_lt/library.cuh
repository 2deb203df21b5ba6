#pragma once
// cuBLASLt, loaded when it is first asked for: the program starts, and trains on CPUs, where there is none.

#include <cublasLt.h>

#include "tensor/device.hpp"

namespace dt::kernels::cuda::cublas_lt {

#define DT_CUBLAS_LT(FUNCTION)                   \
  FUNCTION(cublasLtCreate)                       \
  FUNCTION(cublasLtGetStatusString)              \
  FUNCTION(cublasLtGetVersion)                   \
  FUNCTION(cublasLtMatmul)                       \
  FUNCTION(cublasLtMatmulAlgoConfigGetAttribute) \
  FUNCTION(cublasLtMatmulAlgoGetHeuristic)       \
  FUNCTION(cublasLtMatmulDescCreate)             \
  FUNCTION(cublasLtMatmulDescDestroy)            \
  FUNCTION(cublasLtMatmulDescSetAttribute)       \
  FUNCTION(cublasLtMatmulPreferenceCreate)       \
  FUNCTION(cublasLtMatmulPreferenceDestroy)      \
  FUNCTION(cublasLtMatmulPreferenceSetAttribute) \
  FUNCTION(cublasLtMatrixLayoutCreate)           \
  FUNCTION(cublasLtMatrixLayoutDestroy)

/// Its functions, by its names for them.
struct Library {
#define DT_MEMBER(name) decltype(&::name) name;
  DT_CUBLAS_LT(DT_MEMBER)
#undef DT_MEMBER
};

/// Errors: environment, where there is none.
const Library& library();

/// Gives back what the library made.
template <auto Library::*destroy>
struct Destroy {
  template <class T>
  void operator()(T* made) const {
    (library().*destroy)(made);
  }
};

/// The library's state for a GPU, which must be the thread's current one; any thread may ask. It
/// stays: at the program's end the driver may have gone first.
cublasLtHandle_t handle_of(Device device);

/// Error{environment}, naming the GPU, what was tried and what the library says, unless it succeeded.
void check(Device device, const char* what, cublasStatus_t status);

}  // namespace dt::kernels::cuda::cublas_lt
