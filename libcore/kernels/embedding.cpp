#include "kernels/embedding.hpp"

#include "kernels/check.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/reference/kernels.hpp"

namespace dt::kernels {

void embedding(const Context& context, const Tensor& ids_R, const Tensor& table_VC, bool add,
               const Tensor& y_RC, DimShard shard) {
  check_rank("embedding", "ids_R", ids_R, 1);
  check_rank("embedding", "table_VC", table_VC, 2);
  const std::int64_t R = ids_R.dim(0), V = table_VC.dim(0), C = table_VC.dim(1);
  check_tensor("embedding", "y_RC", y_RC, table_VC.dtype(), {R, C});
  check_ids("embedding", ids_R, 0, check_shard("embedding", shard, V));
  static constexpr Implementations<decltype(embedding)> implementations{
      reference::embedding<double>, reference::embedding<float>, cpu::embedding, &GpuKernels::embedding};
  select_kernel(implementations, context, "embedding", table_VC.dtype())(context, ids_R, table_VC, add, y_RC,
                                                                         shard);
}

void embedding_backward(const Context& context, const Tensor& ids_R, const Tensor& dy_RC,
                        const Tensor& dtable_VC, DimShard shard) {
  check_rank("embedding_backward", "ids_R", ids_R, 1);
  check_rank("embedding_backward", "dtable_VC", dtable_VC, 2);
  const std::int64_t R = ids_R.dim(0), V = dtable_VC.dim(0), C = dtable_VC.dim(1);
  check_tensor("embedding_backward", "dy_RC", dy_RC, dy_RC.dtype(), {R, C});
  check_gradient("embedding_backward", "dtable_VC", dtable_VC, dy_RC.dtype(), {V, C});
  check_ids("embedding_backward", ids_R, 0, check_shard("embedding_backward", shard, V));
  static constexpr Implementations<decltype(embedding_backward)> implementations{
      reference::embedding_backward<double>, reference::embedding_backward<float>, cpu::embedding_backward,
      &GpuKernels::embedding_backward};
  select_kernel(implementations, context, "embedding_backward", dy_RC.dtype())(context, ids_R, dy_RC,
                                                                               dtable_VC, shard);
}

}  // namespace dt::kernels
