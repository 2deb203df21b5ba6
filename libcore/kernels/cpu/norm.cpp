#include "kernels/norm.hpp"

#include <cmath>

#include "kernels/cpu/column_sums.hpp"
#include "kernels/cpu/kernels.hpp"

#ifndef DT_KERNELS_CPU_NORM_BACKWARD
#define DT_KERNELS_CPU_NORM_BACKWARD
namespace dt::kernels::cpu {

/// What a norm's backward reads and writes row by row. mean_R is absent for RMS norm; dresidual_RC and
/// dbias_C may be.
struct NormBackward {
  const Tensor &dy_RC, &x_RC, &weight_C, &mean_R, &rstd_R, &dresidual_RC, &dx_RC, &dbias_C;
};

}  // namespace dt::kernels::cpu
#endif

#define HWY_TARGET_INCLUDE "kernels/cpu/norm.cpp"
#include "kernels/cpu/simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

template <class T>
float mean_of(const T* x, std::int64_t C) {
  float sums[1];
  accumulate(C, sums,
             [=](std::int64_t c, auto lanes, V* s) HWY_ATTR { s[0] = hn::Add(s[0], load(lanes, x + c)); });
  return sums[0] / static_cast<float>(C);
}

/// 1/√(mean((x − mean)²) + eps)
template <class T>
float rstd_of(const T* x, std::int64_t C, float mean, float eps) {
  const V shift = hn::Set(floats, mean);
  float sums[1];
  accumulate(C, sums, [=](std::int64_t c, auto lanes, V* s) HWY_ATTR {
    const V centred = hn::Sub(load(lanes, x + c), keep(lanes, shift, hn::Zero(floats)));
    s[0] = hn::MulAdd(centred, centred, s[0]);
  });
  return 1 / std::sqrt(sums[0] / static_cast<float>(C) + eps);
}

/// bias may be null.
template <class T>
void normalise_row(const T* x, float mean, float rstd, const T* weight, const T* bias, T* y, std::int64_t C) {
  const V shift = hn::Set(floats, mean), scale = hn::Set(floats, rstd);
  const auto y_at = [=](std::int64_t c, auto lanes) HWY_ATTR {
    const V x_hat = hn::Mul(hn::Sub(load(lanes, x + c), shift), scale);
    const V offset = bias ? load(lanes, bias + c) : hn::Zero(floats);
    return hn::MulAdd(x_hat, load(lanes, weight + c), offset);
  };
  std::int64_t c = 0;
  for (; c + 2 * num_lanes <= C; c += 2 * num_lanes) {
    fetch_ahead(x + c), fetch_ahead(x + c + num_lanes);  // the next rows', which are summed first
    store_two(y_at(c, OneOfTwo{}), y_at(c, OtherOfTwo{}), y + c);
  }
  for_lanes(C - c, [=](std::int64_t i, auto lanes) HWY_ATTR { store(lanes, y_at(c + i, lanes), y + c + i); });
}

/// Without mean_R it is RMS norm.
void norm_rows(const Tensor& x_RC, const Tensor& weight_C, const Tensor& bias_C, float eps,
               const Tensor& y_RC, const Tensor& mean_R, const Tensor& rstd_R, std::int64_t begin,
               std::int64_t end) {
  const std::int64_t C = x_RC.dim(1);
  with_elements(x_RC.dtype(), [&](auto element) HWY_ATTR {
    using T = decltype(element);
    const T* weight = weight_C.data<T>();
    const T* bias = bias_C ? bias_C.data<T>() : nullptr;
    for (std::int64_t r = begin; r < end; ++r) {
      const T* x = x_RC.data<T>() + r * C;
      const float mean = mean_R ? mean_of(x, C) : 0, rstd = rstd_of(x, C, mean, eps);
      normalise_row(x, mean, rstd, weight, bias, y_RC.data<T>() + r * C, C);
      if (mean_R) mean_R.data<float>()[r] = mean;
      rstd_R.data<float>()[r] = rstd;
    }
  });
}

/// One row of a backward: dx = dresidual + rstd · (g − mean(g) − x̂ · mean(g · x̂)), g = dy · weight, without
/// the first mean unless `centred` (RMS norm); dweight += dy · x̂; dbias += dy. dresidual and dbias may be
/// null.
template <class T>
void norm_backward_row(const T* dy, const T* x, const T* weight, float mean, float rstd, bool centred,
                       const T* dresidual, T* dx, float* dweight, float* dbias, std::int64_t C) {
  const V shift = hn::Set(floats, mean), scale = hn::Set(floats, rstd);
  float sums[2];
  accumulate(C, sums, [=](std::int64_t c, auto lanes, V* s) HWY_ATTR {
    if (dresidual) fetch(lanes, dresidual + c);
    fetch<1>(lanes, dx + c);
    const V g = hn::Mul(load(lanes, dy + c), load(lanes, weight + c));
    s[0] = hn::Add(s[0], g);
    s[1] = hn::MulAdd(g, hn::Mul(hn::Sub(load(lanes, x + c), shift), scale), s[1]);
  });
  const V mean_g = hn::Set(floats, centred ? sums[0] / static_cast<float>(C) : 0);
  const V mean_gx = hn::Set(floats, sums[1] / static_cast<float>(C));
  for_lanes(C, [=](std::int64_t c, auto lanes) HWY_ATTR {
    fetch(lanes, dy + C + c), fetch(lanes, x + C + c);  // the next row's, which are summed first
    const V d = load(lanes, dy + c);
    const V dw = load(lanes, dweight + c), db = dbias ? load(lanes, dbias + c) : hn::Zero(floats);
    const V x_hat = hn::Mul(hn::Sub(load(lanes, x + c), shift), scale);
    const V g = hn::Sub(hn::Mul(d, load(lanes, weight + c)), mean_g);
    const V before = dresidual ? load(lanes, dresidual + c) : hn::Zero(floats);
    store(lanes, hn::MulAdd(scale, hn::NegMulAdd(x_hat, mean_gx, g), before), dx + c);
    store(lanes, hn::MulAdd(d, x_hat, dw), dweight + c);
    if (dbias) store(lanes, hn::Add(d, db), dbias + c);
  });
}

/// Rows [begin, end); `sums` becomes their share of dweight and, where it is present, behind it that of
/// dbias.
void norm_backward_rows(const NormBackward& p, std::int64_t begin, std::int64_t end, float* sums) {
  const std::int64_t C = p.x_RC.dim(1);
  const bool centred = static_cast<bool>(p.mean_R);
  std::memset(sums, 0, static_cast<std::size_t>(p.dbias_C ? 2 * C : C) * sizeof(float));
  with_elements(p.x_RC.dtype(), [&](auto element) HWY_ATTR {
    using T = decltype(element);
    const auto row = [&](const Tensor& tensor, std::int64_t r) {
      return tensor ? tensor.data<T>() + r * C : nullptr;
    };
    for (std::int64_t r = begin; r < end; ++r) {
      const float mean = centred ? p.mean_R.data<float>()[r] : 0;
      norm_backward_row(row(p.dy_RC, r), row(p.x_RC, r), p.weight_C.data<T>(), mean,
                        p.rstd_R.data<float>()[r], centred, row(p.dresidual_RC, r), row(p.dx_RC, r), sums,
                        p.dbias_C ? sums + C : nullptr, C);
    }
  });
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(norm_rows);
HWY_EXPORT(norm_backward_rows);

namespace {

void norm(const Context& context, const Tensor& x_RC, const Tensor& weight_C, const Tensor& bias_C,
          double eps, const Tensor& y_RC, const Tensor& mean_R, const Tensor& rstd_R) {
  for_ranges(context, x_RC.dim(0), x_RC.dim(1), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(norm_rows)
    (x_RC, weight_C, bias_C, static_cast<float>(eps), y_RC, mean_R, rstd_R, begin, end);
  });
}

void norm_backward(const Context& context, const NormBackward& p, const Tensor& dweight_C) {
  add_column_sums(context, p.x_RC.dim(0), p.x_RC.dim(1), {dweight_C, p.dbias_C},
                  [&](std::int64_t begin, std::int64_t end, float* sums) {
                    HWY_DYNAMIC_DISPATCH(norm_backward_rows)(p, begin, end, sums);
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
