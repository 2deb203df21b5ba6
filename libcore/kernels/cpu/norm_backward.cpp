#include <hwy/cache_control.h>

#include "kernels/cpu/column_sums.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/simd/nontemporal.hpp"
#include "kernels/norm.hpp"

#ifndef DT_KERNELS_CPU_NORM_BACKWARD
#define DT_KERNELS_CPU_NORM_BACKWARD
namespace dt::kernels::cpu {

/// The tensors that a norm's backward reads and writes row by row. mean_R is absent for RMS norm.
/// dresidual_RC and dbias_C may be absent. dx_RC may alias dresidual_RC.
struct NormBackward {
  const Tensor &dy_RC, &x_RC, &weight_C, &mean_R, &rstd_R, &dresidual_RC, &dx_RC, &dbias_C;
  bool nontemporal = false;
};

}  // namespace dt::kernels::cpu
#endif

#define HWY_TARGET_INCLUDE "kernels/cpu/norm_backward.cpp"
#include "kernels/cpu/simd/simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

/// One row of a backward. dresidual may be null.
template <class T>
struct BackwardRow {
  const T *dy, *x, *dresidual;
  T* dx;
  float mean, rstd;
  // Means over the columns, of g = dy · weight and of g · x̂. The first is 0 for RMS norm.
  float mean_g = 0, mean_gx = 0;
};

/// Adds a row's g and g · x̂ to sums.
template <class T>
class SumRow {
 public:
  SumRow(const BackwardRow<T>& row, const T* weight)
      : row_(row), weight_(weight), shift_(hn::Set(floats, row.mean)), scale_(hn::Set(floats, row.rstd)) {}
  template <class Lanes>
  HWY_INLINE void operator()(std::int64_t c, Lanes lanes, V* sums) const {
    fetch_ahead(lanes, row_.dy + c), fetch_ahead(lanes, row_.x + c);
    const V g = hn::Mul(load(lanes, row_.dy + c), load(lanes, weight_ + c));
    sums[0] = hn::Add(sums[0], g);
    sums[1] = hn::MulAdd(g, hn::Mul(hn::Sub(load(lanes, row_.x + c), shift_), scale_), sums[1]);
  }

 private:
  const BackwardRow<T>& row_;
  const T* weight_;
  V shift_, scale_;
};

/// Computes dx = dresidual + rstd · (g − mean(g) − x̂ · mean(g · x̂)) for a row;
/// dweight += dy · x̂; dbias += dy, unless it is null. Sums of vectors that are processed in twos
/// are in the order of twos.
template <class T>
class FinishRow {
 public:
  FinishRow(const BackwardRow<T>& row, const T* weight, float* dweight, float* dbias, bool nontemporal)
      : row_(row),
        weight_(weight),
        dweight_(dweight),
        dbias_(dbias),
        nontemporal_(nontemporal),
        shift_(hn::Set(floats, row.mean)),
        scale_(hn::Set(floats, row.rstd)),
        mean_g_(hn::Set(floats, row.mean_g)),
        mean_gx_(hn::Set(floats, row.mean_gx)) {}
  template <class Lanes>
  HWY_INLINE void operator()(std::int64_t c, Lanes lanes) {
    store(lanes, dx_at(c, lanes, c, lanes), row_.dx + c);
  }
  HWY_INLINE void operator()(std::int64_t c, OneOfTwo lanes) { one_ = dx_at(c, lanes, c, All{}); }
  HWY_INLINE void operator()(std::int64_t c, OtherOfTwo lanes) {
    store_two(one_, dx_at(c, lanes, c + num_lanes, All{}), row_.dx + c, nontemporal_);
  }

 private:
  template <class Lanes, class SumLanes>
  HWY_INLINE V dx_at(std::int64_t c, Lanes lanes, std::int64_t sum, SumLanes sum_lanes) const {
    const V dy = load(lanes, row_.dy + c);
    const V x_hat = hn::Mul(hn::Sub(load(lanes, row_.x + c), shift_), scale_);
    const V g = hn::Sub(hn::Mul(dy, load(lanes, weight_ + c)), mean_g_);
    if (row_.dresidual) fetch_ahead(lanes, row_.dresidual + c);
    const V before = row_.dresidual ? load(lanes, row_.dresidual + c) : hn::Zero(floats);
    store(sum_lanes, hn::MulAdd(dy, x_hat, load(sum_lanes, dweight_ + sum)), dweight_ + sum);
    if (dbias_) store(sum_lanes, hn::Add(dy, load(sum_lanes, dbias_ + sum)), dbias_ + sum);
    return hn::MulAdd(scale_, hn::NegMulAdd(x_hat, mean_gx_, g), before);
  }
  const BackwardRow<T>& row_;
  const T* weight_;
  float *dweight_, *dbias_;
  bool nontemporal_;
  V shift_, scale_, mean_g_, mean_gx_, one_;
};

/// Processes rows [begin, end). Writes their part of dweight to `sums`, followed by that of dbias
/// if it is present. A row is finished while the next is summed, so that memory is read all the
/// time.
void norm_backward_rows(const NormBackward& p, std::int64_t begin, std::int64_t end, float* sums) {
  const std::int64_t C = p.x_RC.dim(1);
  const bool centred = static_cast<bool>(p.mean_R);
  float* dbias = p.dbias_C ? sums + C : nullptr;
  std::memset(sums, 0, static_cast<std::size_t>(dbias ? 2 * C : C) * sizeof(float));
  with_elements(p.x_RC.dtype(), [&](auto element) HWY_ATTR {
    using T = decltype(element);
    const T* weight = p.weight_C.data<T>();
    const auto row_at = [&](std::int64_t r) {
      return BackwardRow<T>{.dy = p.dy_RC.data<T>() + r * C,
                            .x = p.x_RC.data<T>() + r * C,
                            .dresidual = p.dresidual_RC ? p.dresidual_RC.data<T>() + r * C : nullptr,
                            .dx = p.dx_RC.data<T>() + r * C,
                            .mean = centred ? p.mean_R.data<float>()[r] : 0,
                            .rstd = p.rstd_R.data<float>()[r]};
    };
    const auto take_means = [&](BackwardRow<T>& row, const float* totals) {
      if (centred) row.mean_g = totals[0] / static_cast<float>(C);
      row.mean_gx = totals[1] / static_cast<float>(C);
    };
    BackwardRow<T> row = row_at(begin);
    float totals[2];
    accumulate(C, totals, SumRow<T>(row, weight));
    take_means(row, totals);
    for (std::int64_t r = begin; r < end; ++r) {
      const bool is_last = r + 1 == end;
      FinishRow<T> finish(row, weight, sums, dbias, p.nontemporal);
      if (is_last) {
        accumulate(C, totals, [&](std::int64_t c, auto lanes, V*) HWY_ATTR { finish(c, lanes); });
        break;
      }
      BackwardRow<T> next = row_at(r + 1);
      const SumRow<T> sum(next, weight);
      accumulate(C, totals, [&](std::int64_t c, auto lanes, V* s) HWY_ATTR {
        sum(c, lanes, s);
        finish(c, lanes);
      });
      take_means(next, totals);
      row = next;
    }
    for_twos(C, [&](std::int64_t c) HWY_ATTR {
      order_two(weight, sums + c);
      if (dbias) order_two(weight, dbias + c);
    });
  });
  if (p.nontemporal) hwy::FlushStream();
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(norm_backward_rows);

namespace {

void norm_backward(const Context& context, NormBackward p, const Tensor& dweight_C) {
  const std::size_t bytes_read = p.dy_RC.bytes() + p.x_RC.bytes() + p.dresidual_RC.bytes();
  const auto* dx = p.dx_RC.raw();
  const bool in_place = dx == p.dresidual_RC.raw() || dx == p.dy_RC.raw() || dx == p.x_RC.raw();
  p.nontemporal = !in_place && use_nontemporal_stores(p.dx_RC, bytes_read);
  add_column_sums(context, p.x_RC.dim(0), p.x_RC.dim(1), {dweight_C, p.dbias_C},
                  [&](std::int64_t begin, std::int64_t end, float* sums) {
                    HWY_DYNAMIC_DISPATCH(norm_backward_rows)(p, begin, end, sums);
                  });
}

}  // namespace

void layer_norm_backward(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                         const Tensor& weight_C, const Tensor& mean_R, const Tensor& rstd_R,
                         const Tensor& dresidual_RC, const Tensor& dx_RC, const Tensor& dweight_C,
                         const Tensor& dbias_C) {
  norm_backward(context, {dy_RC, x_RC, weight_C, mean_R, rstd_R, dresidual_RC, dx_RC, dbias_C}, dweight_C);
}

void rms_norm_backward(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                       const Tensor& weight_C, const Tensor& rstd_R, const Tensor& dresidual_RC,
                       const Tensor& dx_RC, const Tensor& dweight_C) {
  norm_backward(context, {dy_RC, x_RC, weight_C, Tensor(), rstd_R, dresidual_RC, dx_RC, Tensor()}, dweight_C);
}

}  // namespace dt::kernels::cpu
#endif
