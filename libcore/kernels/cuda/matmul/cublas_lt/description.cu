#include "base/error.hpp"
#include "kernels/cuda/matmul/cublas_lt/description.cuh"

namespace dt::kernels::cuda::cublas_lt {

namespace {

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
