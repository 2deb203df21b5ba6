#include "kernels/norm.hpp"

#include <algorithm>
#include <cmath>

#include <hwy/cache_control.h>

#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/simd/nontemporal.hpp"
#include "kernels/cpu/simd/parallel.hpp"

#define HWY_TARGET_INCLUDE "kernels/cpu/norm.cpp"
#include "kernels/cpu/simd/simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

template <class T>
struct NormRow {
  const T* x;
  T* y;
  float mean, rstd;
};

/// Returns the mean of a row's first vector, which is near the row's mean. Sums about it lose at
/// most the digits that C ÷ num_lanes can take. No mean of m of C elements is farther from the mean
/// of all than √(C/m) standard deviations.
template <class T>
float near_mean(const T* x, std::int64_t C) {
  const std::int64_t count = HWY_MIN(num_lanes, C);
  return hn::GetLane(hn::SumOfLanes(floats, load(First{count}, x))) / static_cast<float>(count);
}

/// Adds a row's x − shift and (x − shift)² to sums.
template <class T>
class SumMoments {
 public:
  SumMoments(const T* x, float shift) : x_(x), shift_(hn::Set(floats, shift)) {}
  template <class Lanes>
  HWY_INLINE void operator()(std::int64_t c, Lanes lanes, V* sums) const {
    fetch_ahead(lanes, x_ + c);
    const V centred = hn::Sub(load(lanes, x_ + c), keep(lanes, shift_, hn::Zero(floats)));
    sums[0] = hn::Add(sums[0], centred);
    sums[1] = hn::MulAdd(centred, centred, sums[1]);
  }

 private:
  const T* x_;
  V shift_;
};

/// Computes y = (x − mean) · rstd · weight + bias for a row. bias may be null.
template <class T>
class Normalise {
 public:
  Normalise(const NormRow<T>& row, const T* weight, const T* bias, bool nontemporal)
      : x_(row.x),
        weight_(weight),
        bias_(bias),
        y_(row.y),
        nontemporal_(nontemporal),
        shift_(hn::Set(floats, row.mean)),
        scale_(hn::Set(floats, row.rstd)) {}
  template <class Lanes>
  HWY_INLINE void operator()(std::int64_t c, Lanes lanes) {
    store(lanes, y_at(c, lanes), y_ + c);
  }
  HWY_INLINE void operator()(std::int64_t c, OneOfTwo lanes) { one_ = y_at(c, lanes); }
  HWY_INLINE void operator()(std::int64_t c, OtherOfTwo lanes) {
    store_two(one_, y_at(c, lanes), y_ + c, nontemporal_);
  }

 private:
  template <class Lanes>
  HWY_INLINE V y_at(std::int64_t c, Lanes lanes) const {
    const V x_hat = hn::Mul(hn::Sub(load(lanes, x_ + c), shift_), scale_);
    const V offset = bias_ ? load(lanes, bias_ + c) : hn::Zero(floats);
    return hn::MulAdd(x_hat, load(lanes, weight_ + c), offset);
  }
  const T *x_, *weight_, *bias_;
  T* y_;
  bool nontemporal_;
  V shift_, scale_, one_;
};

/// Normalizes rows; RMS norm if mean_R is absent. A row is normalized while the next is summed, so
/// that memory is read all the time.
void norm_rows(const Tensor& x_RC, const Tensor& weight_C, const Tensor& bias_C, float eps,
               const Tensor& y_RC, const Tensor& mean_R, const Tensor& rstd_R, bool nontemporal,
               std::int64_t begin, std::int64_t end) {
  const std::int64_t C = x_RC.dim(1);
  with_elements(x_RC.dtype(), [&](auto element) HWY_ATTR {
    using T = decltype(element);
    const T* weight = weight_C.data<T>();
    const T* bias = bias_C ? bias_C.data<T>() : nullptr;
    const auto x_at = [&](std::int64_t r) { return x_RC.data<T>() + r * C; };
    const auto shift_of = [&](std::int64_t r) { return mean_R ? near_mean(x_at(r), C) : 0; };
    const auto row_of = [&](std::int64_t r, float shift, const float* sums) {
      const float first = mean_R ? sums[0] / static_cast<float>(C) : 0;
      const float variance = std::max(sums[1] / static_cast<float>(C) - first * first, 0.0f);
      NormRow<T> row{x_at(r), y_RC.data<T>() + r * C, shift + first, 1 / std::sqrt(variance + eps)};
      if (mean_R) mean_R.data<float>()[r] = row.mean;
      rstd_R.data<float>()[r] = row.rstd;
      return row;
    };
    float sums[2];
    const float first_shift = shift_of(begin);
    accumulate(C, sums, SumMoments<T>(x_at(begin), first_shift));
    NormRow<T> row = row_of(begin, first_shift, sums);
    for (std::int64_t r = begin + 1; r < end; ++r) {
      const float shift = shift_of(r);
      Normalise<T> normalise(row, weight, bias, nontemporal);
      const SumMoments<T> sum(x_at(r), shift);
      accumulate(C, sums, [&](std::int64_t c, auto lanes, V* s) HWY_ATTR {
        sum(c, lanes, s);
        normalise(c, lanes);
      });
      row = row_of(r, shift, sums);
    }
    Normalise<T> normalise(row, weight, bias, nontemporal);
    accumulate(C, sums, [&](std::int64_t c, auto lanes, V*) HWY_ATTR { normalise(c, lanes); });
  });
  if (nontemporal) hwy::FlushStream();
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(norm_rows);

namespace {

void norm(const Context& context, const Tensor& x_RC, const Tensor& weight_C, const Tensor& bias_C,
          double eps, const Tensor& y_RC, const Tensor& mean_R, const Tensor& rstd_R) {
  const bool nontemporal = y_RC.raw() != x_RC.raw() && use_nontemporal_stores(y_RC, x_RC.bytes());
  for_ranges(context, x_RC.dim(0), x_RC.dim(1), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(norm_rows)
    (x_RC, weight_C, bias_C, static_cast<float>(eps), y_RC, mean_R, rstd_R, nontemporal, begin, end);
  });
}

}  // namespace

void layer_norm(const Context& context, const Tensor& x_RC, const Tensor& weight_C, const Tensor& bias_C,
                double eps, const Tensor& y_RC, const Tensor& mean_R, const Tensor& rstd_R) {
  norm(context, x_RC, weight_C, bias_C, eps, y_RC, mean_R, rstd_R);
}

void rms_norm(const Context& context, const Tensor& x_RC, const Tensor& weight_C, double eps,
              const Tensor& y_RC, const Tensor& rstd_R) {
  norm(context, x_RC, weight_C, Tensor(), eps, y_RC, Tensor(), rstd_R);
}

}  // namespace dt::kernels::cpu
#endif
