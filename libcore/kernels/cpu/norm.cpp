#include "kernels/norm.hpp"

#include <algorithm>
#include <cmath>

#include <hwy/cache_control.h>

#include "kernels/cpu/column_sums.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/simd/parallel.hpp"

#ifndef DT_KERNELS_CPU_NORM_BACKWARD
#define DT_KERNELS_CPU_NORM_BACKWARD
namespace dt::kernels::cpu {

/// The tensors that a norm's backward reads and writes row by row. mean_R is absent for RMS norm.
/// dresidual_RC and dbias_C may be absent. dx_RC may alias dresidual_RC.
struct NormBackward {
  const Tensor &dy_RC, &x_RC, &weight_C, &mean_R, &rstd_R, &dresidual_RC, &dx_RC, &dbias_C;
  bool plus_one;
  bool nontemporal = false;
};

}  // namespace dt::kernels::cpu
#endif

#define HWY_TARGET_INCLUDE "kernels/cpu/norm.cpp"
#include "kernels/cpu/simd/simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

/// The factors of columns: weights, or 1 + weight.
template <class T, bool plus_one>
struct Factors {
  const T* weight;

  template <class Lanes>
  HWY_INLINE V at(std::int64_t c, Lanes lanes) const {
    const V w = load(lanes, weight + c);
    if constexpr (plus_one)
      return hn::Add(w, hn::Set(floats, 1.0f));
    else
      return w;
  }
};

/// Calls body with a norm's factors.
template <class T, class Body>
void with_factors(const Tensor& weight_C, bool plus_one, const Body& body) {
  if (plus_one)
    body(Factors<T, true>{weight_C.data<T>()});
  else
    body(Factors<T, false>{weight_C.data<T>()});
}

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

/// Computes y = (x − mean) · rstd · factor + bias for a row. bias may be null.
template <class T, class F>
class Normalise {
 public:
  Normalise(const NormRow<T>& row, const F& factors, const T* bias, bool nontemporal)
      : x_(row.x),
        factors_(factors),
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
    return hn::MulAdd(x_hat, factors_.at(c, lanes), offset);
  }
  const T* x_;
  F factors_;
  const T* bias_;
  T* y_;
  bool nontemporal_;
  V shift_, scale_, one_;
};

/// Normalizes rows; RMS norm if mean_R is absent. A row is normalized while the next is summed, so
/// that memory is read all the time.
void norm_rows(const Tensor& x_RC, const Tensor& weight_C, const Tensor& bias_C, float eps,
               const Tensor& y_RC, const Tensor& mean_R, const Tensor& rstd_R, bool plus_one,
               bool nontemporal, std::int64_t begin, std::int64_t end) {
  const std::int64_t C = x_RC.dim(1);
  with_elements(x_RC.dtype(), [&](auto element) HWY_ATTR {
    using T = decltype(element);
    const T* bias = bias_C ? bias_C.data<T>() : nullptr;
    const T* x = x_RC.data<T>();
    T* y = y_RC.data<T>();
    float* means = mean_R ? mean_R.data<float>() : nullptr;
    float* rstds = rstd_R.data<float>();
    const auto x_at = [&](std::int64_t r) { return x + r * C; };
    const auto shift_of = [&](std::int64_t r) { return means ? near_mean(x_at(r), C) : 0; };
    const auto row_of = [&](std::int64_t r, float shift, const float* sums) {
      const float first = means ? sums[0] / static_cast<float>(C) : 0;
      const float variance = std::max(sums[1] / static_cast<float>(C) - first * first, 0.0f);
      NormRow<T> row{x_at(r), y + r * C, shift + first, 1 / std::sqrt(variance + eps)};
      if (means) means[r] = row.mean;
      rstds[r] = row.rstd;
      return row;
    };
    with_factors<T>(weight_C, plus_one, [&](const auto& factors) HWY_ATTR {
      float sums[2];
      const float first_shift = shift_of(begin);
      accumulate(C, sums, SumMoments<T>(x_at(begin), first_shift));
      NormRow<T> row = row_of(begin, first_shift, sums);
      for (std::int64_t r = begin + 1; r < end; ++r) {
        const float shift = shift_of(r);
        Normalise normalise(row, factors, bias, nontemporal);
        const SumMoments<T> sum(x_at(r), shift);
        accumulate(C, sums, [&](std::int64_t c, auto lanes, V* s) HWY_ATTR {
          sum(c, lanes, s);
          normalise(c, lanes);
        });
        row = row_of(r, shift, sums);
      }
      Normalise normalise(row, factors, bias, nontemporal);
      accumulate(C, sums, [&](std::int64_t c, auto lanes, V*) HWY_ATTR { normalise(c, lanes); });
    });
  });
  if (nontemporal) hwy::FlushStream();
}

/// One row of a backward. dresidual may be null.
template <class T>
struct BackwardRow {
  const T *dy, *x, *dresidual;
  T* dx;
  float mean, rstd;
  // Means over the columns, of g = dy · factor and of g · x̂. The first is 0 for RMS norm.
  float mean_g = 0, mean_gx = 0;
};

/// Adds a row's g and g · x̂ to sums.
template <class T, class F>
class SumRow {
 public:
  SumRow(const BackwardRow<T>& row, const F& factors)
      : row_(row), factors_(factors), shift_(hn::Set(floats, row.mean)), scale_(hn::Set(floats, row.rstd)) {}
  template <class Lanes>
  HWY_INLINE void operator()(std::int64_t c, Lanes lanes, V* sums) const {
    fetch_ahead(lanes, row_.dy + c), fetch_ahead(lanes, row_.x + c);
    const V g = hn::Mul(load(lanes, row_.dy + c), factors_.at(c, lanes));
    sums[0] = hn::Add(sums[0], g);
    sums[1] = hn::MulAdd(g, hn::Mul(hn::Sub(load(lanes, row_.x + c), shift_), scale_), sums[1]);
  }

 private:
  const BackwardRow<T>& row_;
  F factors_;
  V shift_, scale_;
};

/// Computes dx = dresidual + rstd · (g − mean(g) − x̂ · mean(g · x̂)) for a row;
/// dweight += dy · x̂; dbias += dy, unless it is null. Sums of vectors that are processed in twos
/// are in the order of twos.
template <class T, class F>
class FinishRow {
 public:
  FinishRow(const BackwardRow<T>& row, const F& factors, float* dweight, float* dbias, bool nontemporal)
      : row_(row),
        factors_(factors),
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
    const V g = hn::Sub(hn::Mul(dy, factors_.at(c, lanes)), mean_g_);
    if (row_.dresidual) fetch_ahead(lanes, row_.dresidual + c);
    const V before = row_.dresidual ? load(lanes, row_.dresidual + c) : hn::Zero(floats);
    store(sum_lanes, hn::MulAdd(dy, x_hat, load(sum_lanes, dweight_ + sum)), dweight_ + sum);
    if (dbias_) store(sum_lanes, hn::Add(dy, load(sum_lanes, dbias_ + sum)), dbias_ + sum);
    return hn::MulAdd(scale_, hn::NegMulAdd(x_hat, mean_gx_, g), before);
  }
  const BackwardRow<T>& row_;
  F factors_;
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
    const T *dy = p.dy_RC.data<T>(), *x = p.x_RC.data<T>();
    const T* dresidual = p.dresidual_RC ? p.dresidual_RC.data<T>() : nullptr;
    T* dx = p.dx_RC.data<T>();
    const float* means = centred ? p.mean_R.data<float>() : nullptr;
    const float* rstds = p.rstd_R.data<float>();
    const auto row_at = [&](std::int64_t r) {
      return BackwardRow<T>{.dy = dy + r * C,
                            .x = x + r * C,
                            .dresidual = dresidual ? dresidual + r * C : nullptr,
                            .dx = dx + r * C,
                            .mean = means ? means[r] : 0,
                            .rstd = rstds[r]};
    };
    const auto take_means = [&](BackwardRow<T>& row, const float* totals) {
      if (centred) row.mean_g = totals[0] / static_cast<float>(C);
      row.mean_gx = totals[1] / static_cast<float>(C);
    };
    with_factors<T>(p.weight_C, p.plus_one, [&](const auto& factors) HWY_ATTR {
      BackwardRow<T> row = row_at(begin);
      float totals[2];
      accumulate(C, totals, SumRow(row, factors));
      take_means(row, totals);
      for (std::int64_t r = begin; r < end; ++r) {
        const bool is_last = r + 1 == end;
        FinishRow finish(row, factors, sums, dbias, p.nontemporal);
        if (is_last) {
          accumulate(C, totals, [&](std::int64_t c, auto lanes, V*) HWY_ATTR { finish(c, lanes); });
          break;
        }
        BackwardRow<T> next = row_at(r + 1);
        const SumRow sum(next, factors);
        accumulate(C, totals, [&](std::int64_t c, auto lanes, V* s) HWY_ATTR {
          sum(c, lanes, s);
          finish(c, lanes);
        });
        take_means(next, totals);
        row = next;
      }
    });
    for_twos(C, [&](std::int64_t c) HWY_ATTR {
      order_two(x, sums + c);
      if (dbias) order_two(x, dbias + c);
    });
  });
  if (p.nontemporal) hwy::FlushStream();
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(norm_rows);
HWY_EXPORT(norm_backward_rows);

namespace {

/// An estimate of one process's share of a last-level cache. The sizes that machines report,
/// virtual ones above all, are useless.
constexpr std::size_t cache_bytes = std::size_t{32} << 20;

/// Returns whether an operation that reads `bytes_read`, and writes all of rows_RC once, should
/// bypass the caches. If both together exceed the caches, the first writes are evicted before the
/// operation ends. Such a store need not read a line that it writes whole, so that rows must start at
/// lines.
bool use_nontemporal_stores(const Tensor& rows_RC, std::size_t bytes_read) {
  constexpr std::size_t line = 64;
  const std::size_t row_bytes = static_cast<std::size_t>(rows_RC.dim(1)) * dtype_bytes(rows_RC.dtype());
  const bool at_lines = reinterpret_cast<std::uintptr_t>(rows_RC.raw()) % line == 0 && row_bytes % line == 0;
  return at_lines && rows_RC.bytes() + bytes_read > cache_bytes;
}

void norm(const Context& context, const Tensor& x_RC, const Tensor& weight_C, const Tensor& bias_C,
          double eps, const Tensor& y_RC, const Tensor& mean_R, const Tensor& rstd_R, bool plus_one) {
  const bool nontemporal = y_RC.raw() != x_RC.raw() && use_nontemporal_stores(y_RC, x_RC.bytes());
  for_ranges(context, x_RC.dim(0), x_RC.dim(1), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(norm_rows)
    (x_RC, weight_C, bias_C, static_cast<float>(eps), y_RC, mean_R, rstd_R, plus_one, nontemporal, begin,
     end);
  });
}

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

void layer_norm(const Context& context, const Tensor& x_RC, const Tensor& weight_C, const Tensor& bias_C,
                double eps, const Tensor& y_RC, const Tensor& mean_R, const Tensor& rstd_R, bool plus_one) {
  norm(context, x_RC, weight_C, bias_C, eps, y_RC, mean_R, rstd_R, plus_one);
}

void rms_norm(const Context& context, const Tensor& x_RC, const Tensor& weight_C, double eps,
              const Tensor& y_RC, const Tensor& rstd_R, bool plus_one) {
  norm(context, x_RC, weight_C, Tensor(), eps, y_RC, Tensor(), rstd_R, plus_one);
}

void layer_norm_backward(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                         const Tensor& weight_C, const Tensor& mean_R, const Tensor& rstd_R,
                         const Tensor& dresidual_RC, const Tensor& dx_RC, const Tensor& dweight_C,
                         const Tensor& dbias_C, bool plus_one) {
  norm_backward(context, {dy_RC, x_RC, weight_C, mean_R, rstd_R, dresidual_RC, dx_RC, dbias_C, plus_one},
                dweight_C);
}

void rms_norm_backward(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                       const Tensor& weight_C, const Tensor& rstd_R, const Tensor& dresidual_RC,
                       const Tensor& dx_RC, const Tensor& dweight_C, bool plus_one) {
  norm_backward(context, {dy_RC, x_RC, weight_C, Tensor(), rstd_R, dresidual_RC, dx_RC, Tensor(), plus_one},
                dweight_C);
}

}  // namespace dt::kernels::cpu
#endif
