#include "model/layers/fused_view.hpp"

#include "base/error.hpp"

namespace dt::model {

Tensor fused_view(std::span<const Tensor> parts) {
  const Tensor& first = parts.front();
  std::vector<std::int64_t> dims = first.shape().dims();
  dims[0] = 0;
  const std::byte* end = first.raw();
  for (const Tensor& part : parts) {
    DT_CHECK(
        part.raw() == end && part.dtype() == first.dtype() && part.shape().rank() == first.shape().rank(),
        "parameters of {} and {} do not lie beside each other", first.shape().to_string(),
        part.shape().to_string());
    dims[0] += part.dim(0);
    end += part.bytes();
  }
  return Tensor(first.raw(), first.dtype(), Shape(dims), first.device());
}

}  // namespace dt::model
