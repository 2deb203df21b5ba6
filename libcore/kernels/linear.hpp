#pragma once
// y = x·Wᵀ + b and its two backward halves.
// Legend: R rows (batch × sequence), N output features, K input features.
// On GPUs the rows of y and dy may be padded (Tensor::pitch): what lies there is neither read nor written.

#include <string>

#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// Whether the processor has the instructions that `arithmetic` takes, whoever may use them.
bool cpu_has(Arithmetic arithmetic);
/// Why this machine does not multiply matrices so, as what follows "the CPU of HOST"; empty where it does:
/// fp32 always; bf16 and amx where its processor has the instructions and, for amx, the kernel lets this
/// process use them.
std::string why_not(Arithmetic arithmetic);
inline bool multiplies_in(Arithmetic arithmetic) {
  return why_not(arithmetic).empty();
}

/// How far apart rows of N elements are to begin that products on the device write and read: N, but on a GPU
/// the next multiple of 64, since rows that are not aligned to what it loads at once leave slow products.
std::int64_t row_pitch(Device device, std::int64_t N);

/// As many of N elements as are whole packs of 16 bytes.
inline std::int64_t whole_packs(DType dtype, std::int64_t N) {
  return N - N % (16 / static_cast<std::int64_t>(dtype_bytes(dtype)));
}
/// How many features the factors of products on the device are to have in place of N, the others being zeros:
/// N, but on a GPU row_pitch where N are no whole packs. Products that make N columns, or sum over N, are
/// slow then, however far apart the rows begin. Source: docs.nvidia.com/cuda/cublas, section 2.1.11, "Tensor
/// Core Usage".
std::int64_t padded_features(Device device, DType dtype, std::int64_t N);

/// y_RN = x_RK · w_NKᵀ + bias_N + residual_RN; bias and residual may be absent, and are where y's rows are
/// padded. y may alias the residual, not x.
void linear(const Context& context, const Tensor& x_RK, const Tensor& w_NK, const Tensor& bias_N,
            const Tensor& residual_RN, const Tensor& y_RN);

/// dx_RK = dy_RN · w_NK.
void linear_backward_input(const Context& context, const Tensor& dy_RN, const Tensor& w_NK,
                           const Tensor& dx_RK);

/// dw_NK += dy_RNᵀ · x_RK; dbias_N += Σ over rows of dy (where present).
void linear_backward_weight(const Context& context, const Tensor& dy_RN, const Tensor& x_RK,
                            const Tensor& dw_NK, const Tensor& dbias_N);

/// dbias_N += Σ over rows of dy, with the bits of linear_backward_weight's: for a bias that is added apart
/// from the product.
void bias_backward(const Context& context, const Tensor& dy_RN, const Tensor& dbias_N);

/// What multiplies on GPUs, with its version: "cuBLASLt 13.1.0". Errors: environment, where it is missing.
std::string product_library();
/// Which of its algorithms that has taken so far in this process, by product, sorted: what bits depend on
/// beside the versions. A few dozen lines of text.
std::vector<std::string> product_algorithms();

/// FLOP/s of the fastest of a few large products multiplied in `arithmetic` (of fp32, or of bf16), measured
/// for about `seconds`.
double measure_matmul_rate(const Context& context, Arithmetic arithmetic, double seconds);
/// The same of the context's GPU, of `dtype`; the products grow until one keeps it busy.
double measure_gpu_matmul_rate(const Context& context, DType dtype, double seconds);

}  // namespace dt::kernels
