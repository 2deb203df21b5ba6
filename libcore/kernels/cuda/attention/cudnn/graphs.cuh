#pragma once
// Describes attention to cuDNN: a graph of operations that its fused kernels know, made by its C++
// front end. The front end is headers alone, which find the library's functions in what
// cudnn_dlhandle names.
// Legend: as kernels/attention.hpp.

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/numeric/dtype.hpp"
#include "kernels/cuda/attention/fused_attention.hpp"

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

namespace dt::kernels::cuda {

/// A problem that a graph is made for, and a kernel chosen.
struct FusedProblem {
  /// Elements between rows.
  struct Strides {
    std::int64_t q, k, v;
    auto operator<=>(const Strides&) const = default;
  };
  DType dtype;
  Mask mask;
  std::int64_t B, H, K, Tq, Tk, D;
  float scale, softcap;  // see ScoreTransform; the scale is not absent
  Strides strides;
  std::int64_t y_stride;
  // Only for the backward pass:
  bool is_backward = false;
  std::int64_t dy_stride = 0;
  Strides gradient_strides{};
  auto operator<=>(const FusedProblem&) const = default;
};
FusedProblem problem_of(const FusedAttention& attention);
FusedProblem problem_of(const FusedAttention& attention, const FusedAttentionGradients& gradients);

/// The tensors of a graph, as named in its execution.
enum class Operand : std::int64_t { q = 1, k, v, y, lse, added, dy, dq, dk, dv };
inline std::int64_t id(Operand operand) {
  return static_cast<std::int64_t>(operand);
}

/// The addresses of a graph's tensors.
using Pointers = std::unordered_map<std::int64_t, void*>;
Pointers operands(const FusedAttention& attention);
Pointers operands(const FusedAttention& attention, const FusedAttentionGradients& gradients);

/// Returns the graph of a problem. `capability` is the GPU's: ten times its major number plus the
/// minor one. Graphs that need not repeat their bits serve comparisons alone, here and in
/// plan_error().
std::shared_ptr<cudnn_frontend::graph::Graph> graph_of(const FusedProblem& problem, int capability,
                                                       bool repeats_bits = true);

/// Makes cuDNN plan a kernel for a graph, on the device of its state or, without a state, on the
/// graph's own. Returns an empty text on success, else what cuDNN says.
std::string plan_error(cudnn_frontend::graph::Graph& graph, cudnnContext* state, bool repeats_bits = true);

}  // namespace dt::kernels::cuda
