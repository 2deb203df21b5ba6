#include "kernels/attention.hpp"
#include "kernels/cuda/launch/code.cuh"
#include "kernels/cuda/launch/kernels.hpp"

namespace dt::kernels::cuda {

namespace {

__global__ void find_first(std::int64_t rows, std::int64_t sequence, std::int64_t position,
                           std::int64_t window, const std::int32_t* starts_R, std::int32_t* first_R) {
  for (std::int64_t r = first_element(); r < rows; r += element_stride()) {
    const std::int64_t first = position + r % sequence - window + 1;
    const std::int64_t start = starts_R != nullptr ? starts_R[r] : 0;
    first_R[r] = static_cast<std::int32_t>(first > start ? first : start);
  }
}

}  // namespace

void first_visible(const Context& context, std::int64_t sequence, std::int64_t position, std::int64_t window,
                   const Tensor& starts_R, const Tensor& first_R) {
  const std::int64_t rows = first_R.dim(0);
  launch(context, "first_visible", grid_for(rows), find_first, rows, sequence, position, window,
         elements<std::int32_t>(starts_R), first_R.data<std::int32_t>());
}

}  // namespace dt::kernels::cuda
