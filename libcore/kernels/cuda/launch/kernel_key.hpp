#pragma once
// Makes keys that tell one piece of a GPU's work from another (Accelerator::submit).

#include <tuple>

#include "kernels/cuda/launch/grid.hpp"
#include "tensor/device/accelerator.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels::cuda {

/// Returns the key of a launch. A kernel's parameters must have no padding bytes, as these would be
/// arbitrary.
template <class... Parameters>
WorkKey key_of(Grid grid, void (*kernel)(Parameters...), const std::tuple<Parameters...>& values) {
  WorkKey key(kernel, grid.blocks, grid.blocks_y, grid.threads, grid.shared_bytes);
  std::apply([&](const Parameters&... value) { (key.add(value), ...); }, values);
  return key;
}

/// Adds the tensor's address and all of its layout.
inline void add_tensor(WorkKey& key, const Tensor& tensor) {
  key.add(tensor.raw());
  if (!tensor) return;
  key.add(tensor.dtype());
  for (int i = 0; i < tensor.shape().rank(); ++i) key.add(tensor.dim(i));
  if (tensor.shape().rank() == 2) key.add(tensor.pitch());
}

}  // namespace dt::kernels::cuda
