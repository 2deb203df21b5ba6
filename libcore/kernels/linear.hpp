#pragma once
// Matrix products y = x·Wᵀ + b and their two backward halves. On GPUs the rows of y and dy may be
// padded (Tensor::pitch); the padding is neither read nor written.
// Legend: R rows (batch × sequence), N output features, K input features.

#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// Returns the distance between rows of N elements that products on the device write and read. On
/// the host it is N. On a GPU it is the next multiple of 64, since rows not aligned to the device's
/// loads make products slow.
std::int64_t row_pitch(Device device, std::int64_t N);

/// Returns the largest number of elements, at most N, that are whole vectors of 16 bytes.
inline std::int64_t round_down_to_vec(DType dtype, std::int64_t N) {
  return N - N % (16 / static_cast<std::int64_t>(dtype_bytes(dtype)));
}
/// Returns the number of features that factors of products on the device should have in place of N;
/// the others are zeros. It is N, except on a GPU if N elements are no whole vectors; there it is
/// row_pitch. Products that make N columns or sum over N are slow then, at any distance between
/// rows.
/// Source: docs.nvidia.com/cuda/cublas, section 2.1.11, "Tensor Core Usage".
std::int64_t padded_features(Device device, DType dtype, std::int64_t N);

/// Computes y_RN = x_RK · w_NKᵀ + bias_N + residual_RN. bias and residual may be absent, and must
/// be if y's rows are padded. y may alias the residual, but not x.
void linear(const Context& context, const Tensor& x_RK, const Tensor& w_NK, const Tensor& bias_N,
            const Tensor& residual_RN, const Tensor& y_RN);

/// Computes dx_RK = dy_RN · w_NK.
void linear_backward_input(const Context& context, const Tensor& dy_RN, const Tensor& w_NK,
                           const Tensor& dx_RK);

/// Computes dw_NK += dy_RNᵀ · x_RK and, if present, dbias_N += Σ over rows of dy.
void linear_backward_weight(const Context& context, const Tensor& dy_RN, const Tensor& x_RK,
                            const Tensor& dw_NK, const Tensor& dbias_N);

/// Computes dbias_N += Σ over rows of dy, for a bias that is added apart from the product.
/// Numerics: the same bits as linear_backward_weight's.
void bias_backward(const Context& context, const Tensor& dy_RN, const Tensor& dbias_N);

}  // namespace dt::kernels
