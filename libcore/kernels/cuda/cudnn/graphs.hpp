#pragma once
// Attention as cuDNN is told of it: a graph of operations that its fused kernels know, made by its C++ front
// end. Legend: as kernels/attention.hpp.

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/dtype.hpp"
#include "kernels/cuda/fused_attention.hpp"

struct cudnnContext;  // the library's state
namespace cudnn_frontend::graph {
class Graph;
}

namespace dt::kernels::cuda {

/// What a graph is made for, and a kernel chosen.
struct FusedProblem {
  /// Elements between rows.
  struct Strides {
    std::int64_t q, k, v;
    auto operator<=>(const Strides&) const = default;
  };
  DType dtype;
  Mask mask;
  std::int64_t B, H, K, Tq, Tk, D;
  Strides strides;
  std::int64_t y_stride;
  // Of the backward pass alone.
  bool is_backward = false;
  std::int64_t dy_stride = 0;
  Strides gradient_strides{};
  auto operator<=>(const FusedProblem&) const = default;
};
FusedProblem problem_of(const FusedAttention& attention);
FusedProblem problem_of(const FusedAttention& attention, const FusedAttentionGradients& gradients);

/// The tensors of a graph, as those who execute it name them.
enum class Operand : std::int64_t { q = 1, k, v, y, lse, added, dy, dq, dk, dv };
inline std::int64_t id(Operand operand) {
  return static_cast<std::int64_t>(operand);
}

/// Where they lie.
using Pointers = std::unordered_map<std::int64_t, void*>;
Pointers operands(const FusedAttention& attention);
Pointers operands(const FusedAttention& attention, const FusedAttentionGradients& gradients);

/// `capability` is the GPU's, ten times its major number and the minor. What need not repeat its bits is what
/// others are compared with, as in the next.
std::shared_ptr<cudnn_frontend::graph::Graph> graph_of(const FusedProblem& problem, int capability,
                                                       bool repeats_bits = true);

/// Has cuDNN make a kernel for a graph, on the device of its state or, without one, of the graph's own. Empty
/// where it did; else what it says.
std::string why_unplanned(cudnn_frontend::graph::Graph& graph, cudnnContext* state, bool repeats_bits = true);

}  // namespace dt::kernels::cuda
