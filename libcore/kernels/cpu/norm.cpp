#include "kernels/norm.hpp"

#include <cmath>

#include "kernels/cpu/column_sums.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/ranges.hpp"

#define HWY_TARGET_INCLUDE "kernels/cpu/norm.cpp"
#include "kernels/cpu/simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

float mean_of(const float* x, std::int64_t C) {
  float sums[1];
  accumulate(C, sums,
             [=](std::int64_t c, auto lanes, V* s) HWY_ATTR { s[0] = hn::Add(s[0], load(lanes, x + c)); });
  return sums[0] / static_cast<float>(C);
}

/// 1/√(mean((x − mean)²) + eps)
float rstd_of(const float* x, std::int64_t C, float mean, float eps) {
  const V shift = hn::Set(floats, mean);
  float sums[1];
  accumulate(C, sums, [=](std::int64_t c, auto lanes, V* s) HWY_ATTR {
    const V centred = hn::Sub(load(lanes, x + c), keep(lanes, shift, hn::Zero(floats)));
    s[0] = hn::MulAdd(centred, centred, s[0]);
  });
  return 1 / std::sqrt(sums[0] / static_cast<float>(C) + eps);
}

void layer_norm_row(const float* x, const float* weight, const float* bias, float eps, float* y, float* mean,
                    float* rstd, std::int64_t C) {
  *mean = mean_of(x, C);
  *rstd = rstd_of(x, C, *mean, eps);
  const V shift = hn::Set(floats, *mean), scale = hn::Set(floats, *rstd);
  for_lanes(C, [=](std::int64_t c, auto lanes) HWY_ATTR {
    const V x_hat = hn::Mul(hn::Sub(load(lanes, x + c), shift), scale);
    const V offset = bias ? load(lanes, bias + c) : hn::Zero(floats);
    store(lanes, hn::MulAdd(x_hat, load(lanes, weight + c), offset), y + c);
  });
}

void rms_norm_row(const float* x, const float* weight, float eps, float* y, float* rstd, std::int64_t C) {
  *rstd = rstd_of(x, C, 0, eps);
  const V scale = hn::Set(floats, *rstd);
  for_lanes(C, [=](std::int64_t c, auto lanes) HWY_ATTR {
    store(lanes, hn::Mul(hn::Mul(load(lanes, x + c), scale), load(lanes, weight + c)), y + c);
  });
}

// dx += rstd · (g − mean(g) − x̂ · mean(g · x̂)), g = dy · weight; without `centred` (RMS norm) the first mean
// is left out.
void norm_backward_row(const float* dy, const float* x, const float* weight, float mean, float rstd,
                       bool centred, float* dx, std::int64_t C) {
  const V shift = hn::Set(floats, mean), scale = hn::Set(floats, rstd);
  float sums[2];
  accumulate(C, sums, [=](std::int64_t c, auto lanes, V* s) HWY_ATTR {
    const V g = hn::Mul(load(lanes, dy + c), load(lanes, weight + c));
    s[0] = hn::Add(s[0], g);
    s[1] = hn::MulAdd(g, hn::Mul(hn::Sub(load(lanes, x + c), shift), scale), s[1]);
  });
  const V mean_g = hn::Set(floats, centred ? sums[0] / static_cast<float>(C) : 0);
  const V mean_gx = hn::Set(floats, sums[1] / static_cast<float>(C));
  for_lanes(C, [=](std::int64_t c, auto lanes) HWY_ATTR {
    const V x_hat = hn::Mul(hn::Sub(load(lanes, x + c), shift), scale);
    const V g = hn::Sub(hn::Mul(load(lanes, dy + c), load(lanes, weight + c)), mean_g);
    const V term = hn::NegMulAdd(x_hat, mean_gx, g);
    store(lanes, hn::MulAdd(scale, term, load(lanes, dx + c)), dx + c);
  });
}

// sums_C = Σ over rows of dy · (x − mean) · rstd; `mean` is absent for RMS norm.
void sum_weight_gradients(const float* dy, const float* x, const float* mean, const float* rstd,
                          std::int64_t rows, std::int64_t C, float* sums) {
  std::memset(sums, 0, static_cast<std::size_t>(C) * sizeof(float));
  for (std::int64_t r = 0; r < rows; r += 8) {  // eight rows for each load and store of the sums
    const std::int64_t group = HWY_MIN(std::int64_t{8}, rows - r);
    for_lanes(C, [=](std::int64_t c, auto lanes) HWY_ATTR {
      V sum = load(lanes, sums + c);
      for (std::int64_t i = r; i < r + group; ++i) {
        const V shift = hn::Set(floats, mean ? mean[i] : 0);
        const V x_hat = hn::Mul(hn::Sub(load(lanes, x + i * C + c), shift), hn::Set(floats, rstd[i]));
        sum = hn::MulAdd(load(lanes, dy + i * C + c), x_hat, sum);
      }
      store(lanes, sum, sums + c);
    });
  }
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(layer_norm_row);
HWY_EXPORT(rms_norm_row);
HWY_EXPORT(norm_backward_row);
HWY_EXPORT(sum_weight_gradients);

void layer_norm(const Context& context, const Tensor& x_RC, const Tensor& weight_C, const Tensor& bias_C,
                double eps, const Tensor& y_RC, const Tensor& mean_R, const Tensor& rstd_R) {
  const std::int64_t R = x_RC.dim(0), C = x_RC.dim(1);
  const float* x = x_RC.data<float>();
  const float* weight = weight_C.data<float>();
  const float* bias = bias_C ? bias_C.data<float>() : nullptr;
  float* y = y_RC.data<float>();
  float* mean = mean_R.data<float>();
  float* rstd = rstd_R.data<float>();
  for_ranges(context, R, C, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      HWY_DYNAMIC_DISPATCH(layer_norm_row)
      (x + r * C, weight, bias, static_cast<float>(eps), y + r * C, mean + r, rstd + r, C);
    }
  });
}

void rms_norm(const Context& context, const Tensor& x_RC, const Tensor& weight_C, double eps,
              const Tensor& y_RC, const Tensor& rstd_R) {
  const std::int64_t R = x_RC.dim(0), C = x_RC.dim(1);
  const float* x = x_RC.data<float>();
  const float* weight = weight_C.data<float>();
  float* y = y_RC.data<float>();
  float* rstd = rstd_R.data<float>();
  for_ranges(context, R, C, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      HWY_DYNAMIC_DISPATCH(rms_norm_row)(x + r * C, weight, static_cast<float>(eps), y + r * C, rstd + r, C);
    }
  });
}

namespace {

/// `mean_R` is absent for RMS norm.
void norm_backward_input(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                         const Tensor& weight_C, const Tensor& mean_R, const Tensor& rstd_R,
                         const Tensor& dx_RC) {
  const std::int64_t R = x_RC.dim(0), C = x_RC.dim(1);
  const float* dy = dy_RC.data<float>();
  const float* x = x_RC.data<float>();
  const float* weight = weight_C.data<float>();
  const float* mean = mean_R ? mean_R.data<float>() : nullptr;
  const float* rstd = rstd_R.data<float>();
  float* dx = dx_RC.data<float>();
  for_ranges(context, R, C, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      HWY_DYNAMIC_DISPATCH(norm_backward_row)
      (dy + r * C, x + r * C, weight, mean ? mean[r] : 0, rstd[r], mean != nullptr, dx + r * C, C);
    }
  });
}

}  // namespace

void layer_norm_backward_input(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                               const Tensor& weight_C, const Tensor& mean_R, const Tensor& rstd_R,
                               const Tensor& dx_RC) {
  norm_backward_input(context, dy_RC, x_RC, weight_C, mean_R, rstd_R, dx_RC);
}

void rms_norm_backward_input(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                             const Tensor& weight_C, const Tensor& rstd_R, const Tensor& dx_RC) {
  norm_backward_input(context, dy_RC, x_RC, weight_C, Tensor(), rstd_R, dx_RC);
}

void layer_norm_backward_weight(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                                const Tensor& mean_R, const Tensor& rstd_R, const Tensor& dweight_C,
                                const Tensor& dbias_C) {
  const std::int64_t R = x_RC.dim(0), C = x_RC.dim(1);
  const float* dy = dy_RC.data<float>();
  const float* x = x_RC.data<float>();
  const float* mean = mean_R.data<float>();
  const float* rstd = rstd_R.data<float>();
  const auto weight_sums = [=](std::int64_t begin, std::int64_t end, float* sums) {
    HWY_DYNAMIC_DISPATCH(sum_weight_gradients)
    (dy + begin * C, x + begin * C, mean + begin, rstd + begin, end - begin, C, sums);
  };
  if (!dbias_C) return add_column_sums(context, R, C, {dweight_C.data<float>()}, weight_sums);
  add_column_sums(context, R, C, {dweight_C.data<float>(), dbias_C.data<float>()},
                  [=](std::int64_t begin, std::int64_t end, float* sums) {
                    weight_sums(begin, end, sums);
                    sum_columns(dy + begin * C, end - begin, C, sums + C);
                  });
}

void rms_norm_backward_weight(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                              const Tensor& rstd_R, const Tensor& dweight_C) {
  const std::int64_t R = x_RC.dim(0), C = x_RC.dim(1);
  const float* dy = dy_RC.data<float>();
  const float* x = x_RC.data<float>();
  const float* rstd = rstd_R.data<float>();
  add_column_sums(context, R, C, {dweight_C.data<float>()},
                  [=](std::int64_t begin, std::int64_t end, float* sums) {
                    HWY_DYNAMIC_DISPATCH(sum_weight_gradients)
                    (dy + begin * C, x + begin * C, nullptr, rstd + begin, end - begin, C, sums);
                  });
}

}  // namespace dt::kernels::cpu
#endif
