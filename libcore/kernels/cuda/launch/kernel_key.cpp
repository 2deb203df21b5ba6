#include "kernels/cuda/launch/kernel_key.hpp"

namespace dt::kernels::cuda {

void add_tensor(WorkKey& key, const Tensor& tensor) {
  key.add(tensor.raw());
  if (!tensor) return;
  key.add(tensor.dtype());
  for (int i = 0; i < tensor.shape().rank(); ++i) key.add(tensor.dim(i));
  if (tensor.shape().rank() == 2) key.add(tensor.pitch());
}

}  // namespace dt::kernels::cuda
