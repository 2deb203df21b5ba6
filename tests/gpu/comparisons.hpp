#pragma once
// Compares dt's products and attention on a GPU with the fastest ways of the libraries that compute them.
// The libraries' sums may be in another order each time.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpu/measure.hpp"
#include "kernels/cuda/attention/fused_attention.hpp"
#include "kernels/cuda/matmul/matmul.hpp"

namespace dt::test_device {

/// The time of the fastest of `ways` ways; functions return none if the library has none.
struct Fastest {
  double seconds = 0;
  int ways = 0;
};

struct Comparison {
  std::string what;
  double seconds;  // dt's, on ones, which cost a GPU less power than other numbers
  std::optional<Fastest> library;
};

/// A layer's products: `rows` × `inputs` to `rows` × `outputs`, and those of the backward pass. A layer
/// that adds nothing is the head, padded as training pads it.
struct Layer {
  const char* name;
  std::int64_t rows, inputs, outputs;
  bool has_bias, adds_residual;
};
/// Returns the library's fastest way for a product. `dbias` is absent, or the same call sets it to the sums
/// over rows of the left factor as it is stored: a bias's gradient, beside a weight's.
using FastestProduct =
    std::function<std::optional<Fastest>(const Measure&, const kernels::cuda::Matmul&, const Tensor& dbias)>;
/// Compares three products of each layer, or four (weight_gradient_matmuls, or the bias's gradient
/// beside). They are in bf16, and gradients of weights are summed in fp32.
std::vector<Comparison> compare_products(Measure& measure, const std::vector<Layer>& layers,
                                         const FastestProduct& fastest);

/// Returns the library's fastest way for attention. The gradients are absent in the forward pass.
using FastestAttention = std::function<std::optional<Fastest>(
    const Measure&, const kernels::cuda::FusedAttention&, const kernels::cuda::FusedAttentionGradients*)>;
/// Compares causal attention's forward and backward, in bf16 with packed heads.
std::vector<Comparison> compare_attention(Measure& measure,
                                          const std::vector<kernels::AttentionShape>& shapes,
                                          const FastestAttention& fastest);

/// Measures the algorithms that cuBLASLt names for a product, 64 at most, whatever their order of sums.
std::optional<Fastest> fastest_of_cublas_lt(const Measure& measure, const kernels::cuda::Matmul& product,
                                            const Tensor& dbias);
/// Measures cuDNN's first plan for all heads at a time; its backward need not repeat its bits.
std::optional<Fastest> fastest_of_cudnn(const Measure& measure, const kernels::cuda::FusedAttention& forward,
                                        const kernels::cuda::FusedAttentionGradients* gradients);

}  // namespace dt::test_device
