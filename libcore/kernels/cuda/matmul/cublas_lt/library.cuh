#pragma once
// Loads cuBLASLt when it is first asked for, and describes products to it. The program starts, and
// trains on CPUs, without it.

#include <cublasLt.h>
#include <memory>

#include "kernels/cuda/matmul/matmul.hpp"
#include "tensor/device/device.hpp"

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

/// The library's functions, by its names for them.
struct Library {
#define DT_MEMBER(name) decltype(&::name) name;
  DT_CUBLAS_LT(DT_MEMBER)
#undef DT_MEMBER
};

/// Returns the library.
/// Errors: environment, there is none.
const Library& library();

/// Destroys an object that the library made.
template <auto Library::*destroy>
struct Destroy {
  template <class T>
  void operator()(T* made) const {
    (library().*destroy)(made);
  }
};

/// Returns the library's state for a GPU, which must be the thread's current one. The state stays: at
/// the program's end the driver may be gone first.
/// Thread safety: safe from several threads.
cublasLtHandle_t handle_of(Device device);

/// Throws unless `status` is success.
/// Errors: environment, naming the GPU, what was tried and what the library says.
void check(Device device, const char* what, cublasStatus_t status);

using Operation = std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroy<&Library::cublasLtMatmulDescDestroy>>;
using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroy<&Library::cublasLtMatrixLayoutDestroy>>;

/// A product as cuBLASLt takes it: outputᵀ = rightᵀ · leftᵀ, whose bias is a column. The library's
/// matrices are column-major, so it reads a row-major matrix as its transpose.
struct Description {
  Description(Device device, Arithmetic arithmetic, const Matmul& product);
  Layout right, left, output;
  Operation operation;
};

}  // namespace dt::kernels::cuda::cublas_lt
