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
  throw Error(ErrorKind::environment,
              "cannot load cuBLASLt of CUDA 13 or 12, which matrix products on GPUs need" + why_not,
              "add its folder to LD_LIBRARY_PATH");
}

cudaDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return CUDA_R_64F;
    case DType::f32:
      return CUDA_R_32F;
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::f16:
      return CUDA_R_16F;
    default:
      DT_CHECK(false, "cuBLASLt: there is no product of {}", dtype_name(dtype));
      return CUDA_R_32F;
  }
}

Layout layout_of(Device device, const Tensor& stored) {
  cublasLtMatrixLayout_t layout = nullptr;
  const auto rows = static_cast<std::uint64_t>(stored.dim(0)),
             columns = static_cast<std::uint64_t>(stored.dim(1));
  check(
      device, "cublasLtMatrixLayoutCreate",
      library().cublasLtMatrixLayoutCreate(&layout, type_of(stored.dtype()), columns, rows, stored.pitch()));
  return Layout(layout);
}

cublasComputeType_t compute_type_of(Arithmetic arithmetic, DType factors) {
  if (factors == DType::f64) return CUBLAS_COMPUTE_64F;
  const bool is_tf32 = factors == DType::f32 && arithmetic == Arithmetic::tf32;
  return is_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

Operation operation_of(Device device, Arithmetic arithmetic, const Matmul& product) {
  const DType factors = product.left.stored.dtype();
  cublasLtMatmulDesc_t made = nullptr;
  check(device, "cublasLtMatmulDescCreate",
        library().cublasLtMatmulDescCreate(&made, compute_type_of(arithmetic, factors),
                                           factors == DType::f64 ? CUDA_R_64F : CUDA_R_32F));
  return Operation(made);
}

template <class T>
void set(Device device, const Operation& operation, cublasLtMatmulDescAttributes_t attribute,
         const T& value) {
  check(device, "cublasLtMatmulDescSetAttribute",
        library().cublasLtMatmulDescSetAttribute(operation.get(), attribute, &value, sizeof value));
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

Description::Description(Device device, Arithmetic arithmetic, const Matmul& p)
    : right(layout_of(device, p.right.stored)),
      left(layout_of(device, p.left.stored)),
      output(layout_of(device, p.output_MN)),
      operation(operation_of(device, arithmetic, p)) {
  const auto as_stored = [](const MatmulOperand& factor) {
    return factor.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  set(device, operation, CUBLASLT_MATMUL_DESC_TRANSA, as_stored(p.right));
  set(device, operation, CUBLASLT_MATMUL_DESC_TRANSB, as_stored(p.left));
  if (!p.bias_N) return;
  set(device, operation, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  set(device, operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(p.bias_N.raw()));
}

}  // namespace dt::kernels::cuda::cublas_lt

namespace dt::kernels::cuda {

std::string matmul_library() {
  const std::size_t version = cublas_lt::library().cublasLtGetVersion();
  return fmt::format("cuBLASLt {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace dt::kernels::cuda
