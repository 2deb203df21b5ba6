#include "model/rows_of_all.hpp"

#include "kernels/elementwise.hpp"

namespace dt::model {

Tensor RowsOfAll::together(const Context& context, const Tensor& full_R) const {
  if (!full_R) return {};
  if (runs_ == 1) return apart(full_R, 0);
  std::vector<std::int64_t> dims = full_R.shape().dims();
  dims[0] = count();
  return context.scratch().allocate(full_R.dtype(), Shape(dims));
}

void RowsOfAll::copy_in(const Context& context, const Tensor& full_R, const Tensor& together_R) const {
  for (int run = 0; runs_ > 1 && full_R && run < runs_; ++run)
    kernels::copy(context, apart(full_R, run), run_of(together_R, run));
}

void RowsOfAll::copy_out(const Context& context, const Tensor& together_R, const Tensor& full_R) const {
  for (int run = 0; runs_ > 1 && full_R && run < runs_; ++run)
    kernels::copy(context, run_of(together_R, run), apart(full_R, run));
}

}  // namespace dt::model
