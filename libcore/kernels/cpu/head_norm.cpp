#include "kernels/head_norm.hpp"

#include <cmath>
#include <cstring>

#include "kernels/cpu/column_sums.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/simd/parallel.hpp"

#ifndef DT_KERNELS_CPU_HEAD_NORM
#define DT_KERNELS_CPU_HEAD_NORM
namespace dt::kernels::cpu {

/// The tensors of a call. `columns` are x in the forward pass, dy in the backward pass. `sums_RG` are sums
/// of squares or of products; as inputs they may be absent.
struct HeadNormTensors {
  const HeadNorm& norm;
  const Columns& columns;
  const Tensor &weight_W, &x_RN, &sums_RG, &rstd_RG;
};

}  // namespace dt::kernels::cpu
#endif

#define HWY_TARGET_INCLUDE "kernels/cpu/head_norm.cpp"
#include "kernels/cpu/simd/simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

/// Calls body(number of the group, its columns, its part of x_RN) for each group of rows [begin, end).
/// x_RN may be absent.
template <class T, class Body>
HWY_INLINE void for_groups(const HeadNormTensors& p, std::int64_t begin, std::int64_t end, const Body& body) {
  const std::int64_t S = p.columns.rows_RS.dim(1), G = p.norm.groups, W = p.norm.width;
  T* const rows = p.columns.rows_RS.data<T>() + p.columns.first;
  T* const x = p.x_RN ? p.x_RN.data<T>() : nullptr;
  for (std::int64_t r = begin; r < end; ++r) {
    for (std::int64_t g = 0; g < G; ++g)
      body(r * G + g, rows + r * S + g * W, x ? x + (r * G + g) * W : nullptr);
  }
}

template <class T>
float sum_squares(const T* x, std::int64_t W) {
  float sums[1];
  accumulate(W, sums, [=](std::int64_t i, auto lanes, V* sum) HWY_ATTR {
    const V value = load(lanes, x + i);
    sum[0] = hn::MulAdd(value, value, sum[0]);
  });
  return sums[0];
}

/// Weights and what is added to them.
template <class T>
struct Weights {
  explicit Weights(const HeadNormTensors& p)
      : values(p.weight_W.data<T>()), added(hn::Set(floats, p.norm.plus_one ? 1.0f : 0.0f)) {}
  template <class Lanes>
  HWY_INLINE V at(std::int64_t i, Lanes lanes) const {
    return hn::Add(load(lanes, values + i), added);
  }
  const T* values;
  V added;
};

template <class T>
float sum_products(const Weights<T>& weights, const T* dy, const T* x, std::int64_t W) {
  float sums[1];
  accumulate(W, sums, [&](std::int64_t i, auto lanes, V* sum) HWY_ATTR {
    const V weight = hn::Add(load(lanes, weights.values + i), weights.added);
    sum[0] = hn::MulAdd(hn::Mul(load(lanes, dy + i), weight), load(lanes, x + i), sum[0]);
  });
  return sums[0];
}

void head_squares(const HeadNormTensors& p, std::int64_t begin, std::int64_t end) {
  with_elements(p.columns.rows_RS.dtype(), [&](auto element) HWY_ATTR {
    using T = decltype(element);
    float* squares = p.sums_RG.data<float>();
    for_groups<T>(p, begin, end, [&](std::int64_t n, const T* x, const T*) HWY_ATTR {
      squares[n] = sum_squares(x, p.norm.width);
    });
  });
}

void normalise_heads(const HeadNormTensors& p, std::int64_t begin, std::int64_t end) {
  with_elements(p.columns.rows_RS.dtype(), [&](auto element) HWY_ATTR {
    using T = decltype(element);
    const Weights<T> weights(p);
    const auto count = static_cast<float>(p.norm.mean_width), eps = static_cast<float>(p.norm.eps);
    for_groups<T>(p, begin, end, [&](std::int64_t n, T* y, T* x) HWY_ATTR {
      const float squares = p.sums_RG ? p.sums_RG.data<float>()[n] : sum_squares(y, p.norm.width);
      const float rstd = 1 / std::sqrt(squares / count + eps);
      const V scale = hn::Set(floats, rstd);
      for_lanes(p.norm.width, [&](std::int64_t i, auto lanes) HWY_ATTR {
        const V value = load(lanes, y + i);
        store(lanes, value, x + i);
        store(lanes, hn::Mul(hn::Mul(value, scale), weights.at(i, lanes)), y + i);
      });
      p.rstd_RG.data<float>()[n] = rstd;
    });
  });
}

void head_products(const HeadNormTensors& p, std::int64_t begin, std::int64_t end) {
  with_elements(p.columns.rows_RS.dtype(), [&](auto element) HWY_ATTR {
    using T = decltype(element);
    const Weights<T> weights(p);
    float* products = p.sums_RG.data<float>();
    for_groups<T>(p, begin, end, [&](std::int64_t n, const T* dy, const T* x) HWY_ATTR {
      products[n] = sum_products(weights, dy, x, p.norm.width);
    });
  });
}

/// Writes the sums of dy · x · rstd over the rows to `sums`.
void head_gradients(const HeadNormTensors& p, std::int64_t begin, std::int64_t end, float* sums) {
  std::memset(sums, 0, static_cast<std::size_t>(p.norm.width) * sizeof(float));
  with_elements(p.columns.rows_RS.dtype(), [&](auto element) HWY_ATTR {
    using T = decltype(element);
    const Weights<T> weights(p);
    const auto count = static_cast<float>(p.norm.mean_width);
    for_groups<T>(p, begin, end, [&](std::int64_t n, T* dy, const T* x) HWY_ATTR {
      const float products =
          p.sums_RG ? p.sums_RG.data<float>()[n] : sum_products(weights, dy, x, p.norm.width);
      const float rstd = p.rstd_RG.data<float>()[n];
      const V scale = hn::Set(floats, rstd), mean = hn::Set(floats, products / count * rstd);
      for_lanes(p.norm.width, [&](std::int64_t i, auto lanes) HWY_ATTR {
        const V gradient = load(lanes, dy + i), x_hat = hn::Mul(load(lanes, x + i), scale);
        store(lanes, hn::MulAdd(gradient, x_hat, load(lanes, sums + i)), sums + i);
        const V g = hn::Mul(gradient, weights.at(i, lanes));
        store(lanes, hn::Mul(scale, hn::NegMulAdd(x_hat, mean, g)), dy + i);
      });
    });
  });
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(head_squares);
HWY_EXPORT(normalise_heads);
HWY_EXPORT(head_products);
HWY_EXPORT(head_gradients);

namespace {

/// Calls body(begin, end) for ranges of rows.
template <class Body>
void for_rows(const Context& context, const HeadNorm& norm, const Columns& columns, const Body& body) {
  for_ranges(context, columns.rows_RS.dim(0), norm.groups * norm.width, body);
}

}  // namespace

void head_norm_squares(const Context& context, const HeadNorm& norm, const Columns& x,
                       const Tensor& squares_RG) {
  const Tensor absent;
  for_rows(context, norm, x, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(head_squares)({norm, x, absent, absent, squares_RG, absent}, begin, end);
  });
}

void head_norm(const Context& context, const HeadNorm& norm, const Tensor& weight_W, const Tensor& squares_RG,
               const Columns& x, const Tensor& x_RN, const Tensor& rstd_RG) {
  for_rows(context, norm, x, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(normalise_heads)({norm, x, weight_W, x_RN, squares_RG, rstd_RG}, begin, end);
  });
}

void head_norm_products(const Context& context, const HeadNorm& norm, const Tensor& weight_W,
                        const Columns& dy, const Tensor& x_RN, const Tensor& products_RG) {
  const Tensor absent;
  for_rows(context, norm, dy, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(head_products)({norm, dy, weight_W, x_RN, products_RG, absent}, begin, end);
  });
}

void head_norm_backward(const Context& context, const HeadNorm& norm, const Tensor& weight_W,
                        const Tensor& products_RG, const Columns& dy, const Tensor& x_RN,
                        const Tensor& rstd_RG, const Tensor& dweight_W) {
  add_column_sums(context, dy.rows_RS.dim(0), norm.width, {dweight_W},
                  [&](std::int64_t begin, std::int64_t end, float* sums) {
                    HWY_DYNAMIC_DISPATCH(head_gradients)
                    ({norm, dy, weight_W, x_RN, products_RG, rstd_RG}, begin, end, sums);
                  });
}

}  // namespace dt::kernels::cpu
#endif
