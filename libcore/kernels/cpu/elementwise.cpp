#include "kernels/elementwise.hpp"

#include <cstring>

#include "kernels/cpu/column_sums.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/simd/parallel.hpp"

#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise.cpp"
#include "kernels/cpu/simd/simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

template <class A, class B, class Y>
void add_elements(const A* a, const B* b, Y* y, std::int64_t count) {
  for_lanes(count, [=](std::int64_t i, auto lanes)
                       HWY_ATTR { store(lanes, hn::Add(load(lanes, a + i), load(lanes, b + i)), y + i); });
}

void add_part(const Tensor& a, const Tensor& b, const Tensor& y, std::int64_t begin, std::int64_t end) {
  with_elements(y.dtype(), [&](auto element) HWY_ATTR {
    using T = decltype(element);
    add_elements(a.data<T>() + begin, b.data<T>() + begin, y.data<T>() + begin, end - begin);
  });
}

template <class T>
void add_bias_residual_row(const T* x, const T* bias, const T* residual, T* y, std::int64_t count) {
  for_lanes(count, [=](std::int64_t i, auto lanes) HWY_ATTR {
    V sum = load(lanes, x + i);
    if (bias) sum = hn::Add(sum, load(lanes, bias + i));
    if (residual) sum = hn::Add(sum, load(lanes, residual + i));
    store(lanes, sum, y + i);
  });
}

void add_bias_residual_rows(const Tensor& x_RN, const Tensor& bias_N, const Tensor& residual_RN,
                            const Tensor& y_RN, std::int64_t begin, std::int64_t end) {
  const std::int64_t N = x_RN.dim(1);
  with_elements(x_RN.dtype(), [&](auto element) HWY_ATTR {
    using T = decltype(element);
    const T* bias = bias_N ? bias_N.data<T>() : nullptr;
    for (std::int64_t i = begin * N; i < end * N; i += N) {
      const T* residual = residual_RN ? residual_RN.data<T>() + i : nullptr;
      add_bias_residual_row(x_RN.data<T>() + i, bias, residual, y_RN.data<T>() + i, N);
    }
  });
}

template <class T>
void scale_add_elements(float scale, const T* x, const T* residual, T* y, std::int64_t count) {
  const V factor = hn::Set(floats, scale);
  for_lanes(count, [=](std::int64_t i, auto lanes) HWY_ATTR {
    const V value = load(lanes, x + i);
    store(lanes, residual ? hn::MulAdd(factor, value, load(lanes, residual + i)) : hn::Mul(factor, value),
          y + i);
  });
}

void scale_add_part(float scale, const Tensor& x, const Tensor& residual, const Tensor& y, std::int64_t begin,
                    std::int64_t end) {
  with_elements(y.dtype(), [&](auto element) HWY_ATTR {
    using T = decltype(element);
    scale_add_elements(scale, x.data<T>() + begin, residual ? residual.data<T>() + begin : nullptr,
                       y.data<T>() + begin, end - begin);
  });
}

void accumulate_part(const float* source, const Tensor& target, std::int64_t begin, std::int64_t end) {
  with_gradients(target.dtype(), [&](auto element) HWY_ATTR {
    auto* sum = target.data<decltype(element)>() + begin;
    add_elements(source + begin, sum, sum, end - begin);
  });
}

void convert_part(const Tensor& source, const Tensor& target, std::int64_t begin, std::int64_t end) {
  with_elements(source.dtype(), [&](auto from) HWY_ATTR {
    with_elements(target.dtype(), [&](auto to) HWY_ATTR {
      const auto* in = source.data<decltype(from)>() + begin;
      auto* out = target.data<decltype(to)>() + begin;
      for_lanes(end - begin,
                [=](std::int64_t i, auto lanes) HWY_ATTR { store(lanes, load(lanes, in + i), out + i); });
    });
  });
}

void convert_columns_of_rows(const ColumnBlock& source, const ColumnBlock& target, std::int64_t width,
                             std::int64_t begin, std::int64_t end) {
  const std::int64_t from_stride = source.rows_RS.dim(1), to_stride = target.rows_RS.dim(1);
  with_elements(source.rows_RS.dtype(), [&](auto from) HWY_ATTR {
    with_elements(target.rows_RS.dtype(), [&](auto to) HWY_ATTR {
      const auto* in = source.rows_RS.data<decltype(from)>() + source.first + begin * from_stride;
      auto* out = target.rows_RS.data<decltype(to)>() + target.first + begin * to_stride;
      for (std::int64_t r = begin; r < end; ++r, in += from_stride, out += to_stride)
        for_lanes(width,
                  [=](std::int64_t i, auto lanes) HWY_ATTR { store(lanes, load(lanes, in + i), out + i); });
    });
  });
}

constexpr hn::ScalableTag<double> doubles;

/// Adds the squares of a vector of floats to sums, in fp64 and in two halves.
HWY_INLINE void add_squares(V v, hn::Vec<decltype(doubles)> (&sums)[2]) {
#if HWY_TARGET == HWY_SCALAR
  const auto wide = hn::PromoteTo(doubles, v);
  sums[0] = hn::MulAdd(wide, wide, sums[0]);
#else
  constexpr hn::Half<Floats> half;
  const auto low = hn::PromoteTo(doubles, hn::LowerHalf(half, v));
  const auto high = hn::PromoteTo(doubles, hn::UpperHalf(half, v));
  sums[0] = hn::MulAdd(low, low, sums[0]);
  sums[1] = hn::MulAdd(high, high, sums[1]);
#endif
}

template <class T>
double sum_squares(const T* x, std::int64_t count) {
  hn::Vec<decltype(doubles)> sums[2][2];
  for (auto& set : sums) set[0] = set[1] = hn::Zero(doubles);
  std::int64_t i = 0;
  for (; i + 2 * num_lanes <= count; i += 2 * num_lanes) {
    add_squares(load(All{}, x + i), sums[0]);
    add_squares(load(All{}, x + i + num_lanes), sums[1]);
  }
  for_lanes(count - i,
            [&](std::int64_t j, auto lanes) HWY_ATTR { add_squares(load(lanes, x + i + j), sums[0]); });
  const auto total = hn::Add(hn::Add(sums[0][0], sums[0][1]), hn::Add(sums[1][0], sums[1][1]));
  return hn::GetLane(hn::SumOfLanes(doubles, total));
}

double sum_squares_of_part(const Tensor& x, std::int64_t begin, std::int64_t count) {
  double sum = 0;
  with_elements(x.dtype(), [&](auto element)
                               HWY_ATTR { sum = sum_squares(x.data<decltype(element)>() + begin, count); });
  return sum;
}

// Sums eight rows at a time, so that the sums are loaded and stored an eighth as often.
template <class T>
void sum_rows(const T* x, std::int64_t rows, std::int64_t columns, float* sums) {
  std::memset(sums, 0, static_cast<std::size_t>(columns) * sizeof(float));
  for (std::int64_t r = 0; r < rows; r += 8) {
    const std::int64_t group = std::min<std::int64_t>(8, rows - r);
    for_lanes(columns, [=](std::int64_t c, auto lanes) HWY_ATTR {
      V sum = load(lanes, sums + c);
      for (std::int64_t i = 0; i < group; ++i) sum = hn::Add(sum, load(lanes, x + (r + i) * columns + c));
      store(lanes, sum, sums + c);
    });
  }
}

void sum_columns_of_part(const Tensor& x_RC, std::int64_t begin, std::int64_t end, float* sums) {
  const std::int64_t C = x_RC.dim(1);
  with_elements(x_RC.dtype(), [&](auto element) HWY_ATTR {
    sum_rows(x_RC.data<decltype(element)>() + begin * C, end - begin, C, sums);
  });
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(add_part);
HWY_EXPORT(add_bias_residual_rows);
HWY_EXPORT(scale_add_part);
HWY_EXPORT(accumulate_part);
HWY_EXPORT(convert_part);
HWY_EXPORT(convert_columns_of_rows);
HWY_EXPORT(sum_squares_of_part);
HWY_EXPORT(sum_columns_of_part);

void accumulate_range(const float* source, const Tensor& target, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(accumulate_part)(source, target, begin, end);
}

void sum_columns(const Tensor& x_RC, std::int64_t begin, std::int64_t end, float* sums) {
  HWY_DYNAMIC_DISPATCH(sum_columns_of_part)(x_RC, begin, end, sums);
}

void add(const Context& context, const Tensor& a, const Tensor& b, const Tensor& y) {
  for_elements(context, y.numel(), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(add_part)(a, b, y, begin, end);
  });
}

void add_bias_residual(const Context& context, const Tensor& x_RN, const Tensor& bias_N,
                       const Tensor& residual_RN, const Tensor& y_RN) {
  for_ranges(context, x_RN.dim(0), x_RN.dim(1), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(add_bias_residual_rows)(x_RN, bias_N, residual_RN, y_RN, begin, end);
  });
}

void scale_add(const Context& context, double scale, const Tensor& x, const Tensor& residual,
               const Tensor& y) {
  for_elements(context, y.numel(), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(scale_add_part)(static_cast<float>(scale), x, residual, y, begin, end);
  });
}

void accumulate(const Context& context, const Tensor& source, const Tensor& target) {
  const float* addend = source.data<float>();
  for_elements(context, target.numel(),
               [&](std::int64_t begin, std::int64_t end) { accumulate_range(addend, target, begin, end); });
}

void cast(const Context& context, const Tensor& source, const Tensor& target) {
  for_elements(context, target.numel(), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(convert_part)(source, target, begin, end);
  });
}

void cast_columns(const Context& context, const ColumnBlock& source, const ColumnBlock& target,
                  std::int64_t width) {
  for_ranges(context, source.rows_RS.dim(0), width, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(convert_columns_of_rows)(source, target, width, begin, end);
  });
}

void copy(const Context& context, const Tensor& source, const Tensor& target) {
  for_elements(context, static_cast<std::int64_t>(target.bytes()), [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(target.raw() + begin, source.raw() + begin, static_cast<std::size_t>(end - begin));
  });
}

void zero(const Context& context, const Tensor& target) {
  for_elements(context, static_cast<std::int64_t>(target.bytes()), [&](std::int64_t begin, std::int64_t end) {
    std::memset(target.raw() + begin, 0, static_cast<std::size_t>(end - begin));
  });
}

void sum_squares_by_block(const Context& context, const Tensor& x, const Tensor& partials_N) {
  double* const partials = partials_N.data<double>();
  const std::int64_t numel = x.numel();
  for_ranges(context, partials_N.numel(), sum_block_elements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t first = block * sum_block_elements;
      const std::int64_t count = std::min(sum_block_elements, numel - first);
      partials[block] = HWY_DYNAMIC_DISPATCH(sum_squares_of_part)(x, first, count);
    }
  });
}

}  // namespace dt::kernels::cpu
#endif
