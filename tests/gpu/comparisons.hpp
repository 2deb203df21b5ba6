#pragma once
// How near dt's products and attention on a GPU come to the fastest that the libraries which compute them
// have, whose sums may be in another order each time.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpu/measure.hpp"
#include "kernels/cuda/fused_attention.hpp"
#include "kernels/cuda/products.hpp"

namespace dt::test_device {

/// The fastest of so many ways; none where the library has none.
struct Fastest {
  double seconds = 0;
  int ways = 0;
};

struct Comparison {
  std::string what;
  double seconds;  // dt's, of ones, which cost a GPU less power than other numbers
  std::optional<Fastest> library;
};

/// A layer's products: `rows` × `inputs` to `rows` × `outputs`, and what the backward makes of it; with
/// nothing added the head's, padded as training pads it.
struct Layer {
  const char* name;
  std::int64_t rows, inputs, outputs;
  bool has_bias, adds_residual;
};
/// `dbias` is absent, or what the same call is to set to the sums over rows of the left factor as it is
/// stored: a bias's gradient, beside a weight's.
using FastestProduct =
    std::function<std::optional<Fastest>(const Measure&, const kernels::cuda::Product&, const Tensor& dbias)>;
/// Three of each layer, or four (products_of_weight_gradient, or the bias's gradient beside), of bf16, whose
/// gradients of weights are added up in fp32.
std::vector<Comparison> compare_products(Measure& measure, const std::vector<Layer>& layers,
                                         const FastestProduct& fastest);

/// The gradients are absent in the forward.
using FastestAttention = std::function<std::optional<Fastest>(
    const Measure&, const kernels::cuda::FusedAttention&, const kernels::cuda::FusedAttentionGradients*)>;
/// Causal attention's forward and backward, of bf16 and packed heads.
std::vector<Comparison> compare_attention(Measure& measure,
                                          const std::vector<kernels::AttentionShape>& shapes,
                                          const FastestAttention& fastest);

/// Of the algorithms that cuBLASLt names for a product, 64 at most, whatever they do with sums.
std::optional<Fastest> fastest_of_cublas_lt(const Measure& measure, const kernels::cuda::Product& product,
                                            const Tensor& dbias);
/// cuDNN's first, all heads at a time, whose backward need not repeat its bits.
std::optional<Fastest> fastest_of_cudnn(const Measure& measure, const kernels::cuda::FusedAttention& forward,
                                        const kernels::cuda::FusedAttentionGradients* gradients);

}  // namespace dt::test_device
