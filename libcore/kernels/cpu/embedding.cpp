#include "kernels/embedding.hpp"

#include <cstring>

#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/ranges.hpp"

namespace dt::kernels::cpu {

void embedding(const Context& context, const Tensor& ids_R, const Tensor& table_VC, bool accumulate,
               const Tensor& y_RC) {
  const std::int64_t R = ids_R.dim(0), C = table_VC.dim(1);
  const std::int32_t* ids = ids_R.data<std::int32_t>();
  const float* table = table_VC.data<float>();
  float* y = y_RC.data<float>();
  for_ranges(context, R, C, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      if (accumulate) {
        add_range(y + r * C, table + ids[r] * C, y + r * C, C);
      } else {
        std::memcpy(y + r * C, table + ids[r] * C, static_cast<std::size_t>(C) * sizeof(float));
      }
    }
  });
}

// Threads share the columns, not the rows: two rows may have one id, and then must be added in order.
void embedding_backward(const Context& context, const Tensor& ids_R, const Tensor& dy_RC,
                        const Tensor& dtable_VC) {
  const std::int64_t R = ids_R.dim(0), C = dtable_VC.dim(1);
  const std::int32_t* ids = ids_R.data<std::int32_t>();
  const float* dy = dy_RC.data<float>();
  float* dtable = dtable_VC.data<float>();
  constexpr std::int64_t group = 16;  // columns of one cache line
  for_ranges(context, (C + group - 1) / group, R * group, [=](std::int64_t begin, std::int64_t end) {
    const std::int64_t first = begin * group, count = std::min(end * group, C) - first;
    for (std::int64_t r = 0; r < R; ++r) {
      float* row = dtable + ids[r] * C + first;
      add_range(row, dy + r * C + first, row, count);
    }
  });
}

}  // namespace dt::kernels::cpu
