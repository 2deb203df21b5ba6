#include <algorithm>

#include "kernels/reference/kernels.hpp"

namespace dt::kernels::reference {

template <class T>
void embedding(const Context&, const Tensor& ids_R, const Tensor& table_VC, bool add, const Tensor& y_RC,
               DimShard shard) {
  const std::int64_t R = ids_R.dim(0), V = table_VC.dim(0), C = table_VC.dim(1);
  for (std::int64_t r = 0; r < R; ++r) {
    const std::int64_t place = shard.local_index(ids_R.data<std::int32_t>()[r], V);
    T* y = y_RC.data<T>() + r * C;
    if (place < 0) {
      if (!add) std::fill_n(y, C, T{0});
      continue;
    }
    const T* row = table_VC.data<T>() + place * C;
    for (std::int64_t c = 0; c < C; ++c) y[c] = add ? y[c] + row[c] : row[c];
  }
}

template <class T>
void embedding_backward(const Context&, const Tensor& ids_R, const Tensor& dy_RC, const Tensor& dtable_VC,
                        DimShard shard) {
  const std::int64_t R = ids_R.dim(0), V = dtable_VC.dim(0), C = dtable_VC.dim(1);
  for (std::int64_t r = 0; r < R; ++r) {
    const std::int64_t place = shard.local_index(ids_R.data<std::int32_t>()[r], V);
    if (place < 0) continue;
    const T* dy = dy_RC.data<T>() + r * C;
    T* row = dtable_VC.data<T>() + place * C;
    for (std::int64_t c = 0; c < C; ++c) row[c] += dy[c];
  }
}

template decltype(kernels::embedding) embedding<float>;
template decltype(kernels::embedding) embedding<double>;
template decltype(kernels::embedding_backward) embedding_backward<float>;
template decltype(kernels::embedding_backward) embedding_backward<double>;

}  // namespace dt::kernels::reference
