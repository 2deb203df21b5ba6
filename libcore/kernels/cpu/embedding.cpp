#include "kernels/embedding.hpp"

#include "base/numeric/integer.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/simd/parallel.hpp"

#define HWY_TARGET_INCLUDE "kernels/cpu/embedding.cpp"
#include "kernels/cpu/simd/simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

template <class S, class T>
HWY_INLINE void add_row(const S* source, T* target, std::int64_t count) {
  for_lanes(count, [=](std::int64_t i, auto lanes) HWY_ATTR {
    store(lanes, hn::Add(load(lanes, target + i), load(lanes, source + i)), target + i);
  });
}

void embedding_rows(const Tensor& ids_R, const Tensor& table_VC, bool add, const Tensor& y_RC, DimShard shard,
                    std::int64_t begin, std::int64_t end) {
  const std::int64_t V_ = table_VC.dim(0), C = table_VC.dim(1);
  const std::int32_t* ids = ids_R.data<std::int32_t>();
  with_elements(y_RC.dtype(), [&](auto element) HWY_ATTR {
    using T = decltype(element);
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int64_t place = shard.local_index(ids[r], V_);
      T* y = y_RC.data<T>() + r * C;
      if (place < 0) {
        if (!add) std::fill_n(y, C, T{});
        continue;
      }
      const T* row = table_VC.data<T>() + place * C;
      if (add) {
        add_row(row, y, C);
      } else {
        std::memcpy(y, row, static_cast<std::size_t>(C) * sizeof(T));
      }
    }
  });
}

void embedding_backward_columns(const Tensor& ids_R, const Tensor& dy_RC, const Tensor& dtable_VC,
                                DimShard shard, std::int64_t begin, std::int64_t end) {
  const std::int64_t R = ids_R.dim(0), V_ = dtable_VC.dim(0), C = dtable_VC.dim(1);
  const std::int32_t* ids = ids_R.data<std::int32_t>();
  with_elements(dy_RC.dtype(), [&](auto element) HWY_ATTR {
    with_gradients(dtable_VC.dtype(), [&](auto gradient) HWY_ATTR {
      const auto* dy = dy_RC.data<decltype(element)>() + begin;
      auto* dtable = dtable_VC.data<decltype(gradient)>() + begin;
      for (std::int64_t r = 0; r < R; ++r) {
        const std::int64_t place = shard.local_index(ids[r], V_);
        if (place >= 0) add_row(dy + r * C, dtable + place * C, end - begin);
      }
    });
  });
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(embedding_rows);
HWY_EXPORT(embedding_backward_columns);

void embedding(const Context& context, const Tensor& ids_R, const Tensor& table_VC, bool add,
               const Tensor& y_RC, DimShard shard) {
  for_ranges(context, ids_R.dim(0), table_VC.dim(1), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(embedding_rows)(ids_R, table_VC, add, y_RC, shard, begin, end);
  });
}

// Threads divide columns, not rows: two rows may have one id, and must then be added in order.
void embedding_backward(const Context& context, const Tensor& ids_R, const Tensor& dy_RC,
                        const Tensor& dtable_VC, DimShard shard) {
  const std::int64_t R = ids_R.dim(0), C = dtable_VC.dim(1);
  constexpr std::int64_t group = 32;  // columns in whole cache lines
  for_ranges(context, ceil_div(C, group), R * group, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(embedding_backward_columns)
    (ids_R, dy_RC, dtable_VC, shard, begin * group, std::min(end * group, C));
  });
}

}  // namespace dt::kernels::cpu
#endif
