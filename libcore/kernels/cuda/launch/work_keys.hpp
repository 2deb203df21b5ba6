#pragma once
// Makes keys that tell one piece of a GPU's work from another (Accelerator::give).

#include <tuple>
#include <type_traits>

#include "kernels/cuda/attention/fused_attention.hpp"
#include "kernels/cuda/launch/grid.hpp"
#include "kernels/cuda/matmul/matmul.hpp"
#include "tensor/device/work_key.hpp"

namespace dt::kernels::cuda {

/// Returns the key of a launch. A kernel's parameters must have no padding bytes, as these would be
/// arbitrary.
template <class... Parameters>
WorkKey key_of(Grid grid, void (*kernel)(Parameters...), const std::tuple<Parameters...>& values) {
  WorkKey key(kernel, grid.blocks, grid.blocks_y, grid.threads, grid.shared_bytes);
  std::apply([&](const Parameters&... value) { (key.add(value), ...); }, values);
  return key;
}

WorkKey key_of(const Context& context, const Matmul& product);
WorkKey key_of(const FusedAttention& attention);
WorkKey key_of(const FusedAttention& attention, const FusedAttentionGradients& gradients);

}  // namespace dt::kernels::cuda
