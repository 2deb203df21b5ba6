#include "model/tensor_parallel/row_chunk.hpp"

#include "kernels/elementwise.hpp"

namespace dt::model {

Tensor RowChunk::packed_buffer(const Context& context, const Tensor& full_R) const {
  if (!full_R) return {};
  if (runs_ == 1) return run_in_full(full_R, 0);
  std::vector<std::int64_t> dims = full_R.shape().dims();
  dims[0] = count();
  return context.scratch().allocate(full_R.dtype(), Shape(dims));
}

void RowChunk::pack(const Context& context, const Tensor& full_R, const Tensor& together_R) const {
  for (int run = 0; runs_ > 1 && full_R && run < runs_; ++run)
    kernels::copy(context, run_in_full(full_R, run), run_in_packed(together_R, run));
}

void RowChunk::unpack(const Context& context, const Tensor& together_R, const Tensor& full_R) const {
  for (int run = 0; runs_ > 1 && full_R && run < runs_; ++run)
    kernels::copy(context, run_in_packed(together_R, run), run_in_full(full_R, run));
}

}  // namespace dt::model
