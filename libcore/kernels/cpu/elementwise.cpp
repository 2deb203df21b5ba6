#include "kernels/elementwise.hpp"

#include <cstring>

#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/ranges.hpp"

#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise.cpp"
#include "kernels/cpu/simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

void add_floats(const float* a, const float* b, float* y, std::int64_t count) {
  for_lanes(count, [=](std::int64_t i, auto lanes)
                       HWY_ATTR { store(lanes, hn::Add(load(lanes, a + i), load(lanes, b + i)), y + i); });
}

double sum_squares(const float* x, std::int64_t count) {
  constexpr hn::ScalableTag<double> doubles;
  constexpr hn::Rebind<float, decltype(doubles)> half_floats;
  constexpr std::int64_t width = hn::MaxLanes(doubles), unroll = 4;
  hn::Vec<decltype(doubles)> sums[unroll];
  for (auto& sum : sums) sum = hn::Zero(doubles);
  const auto add = [&](const float* p) HWY_ATTR {
    for (std::int64_t i = 0; i < unroll; ++i) {
      const auto v = hn::PromoteTo(doubles, hn::LoadU(half_floats, p + i * width));
      sums[i] = hn::MulAdd(v, v, sums[i]);
    }
  };
  std::int64_t i = 0;
  for (; i + unroll * width <= count; i += unroll * width) add(x + i);
  if (i < count) {
    HWY_ALIGN float tail[unroll * width] = {};
    std::memcpy(tail, x + i, static_cast<std::size_t>(count - i) * sizeof(float));
    add(tail);
  }
  const auto total = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
  return hn::GetLane(hn::SumOfLanes(doubles, total));
}

// Eight rows at a time, so that the sums are loaded and stored an eighth as often.
void sum_float_columns(const float* x, std::int64_t rows, std::int64_t columns, float* sums) {
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

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(add_floats);
HWY_EXPORT(sum_squares);
HWY_EXPORT(sum_float_columns);

void add_range(const float* a, const float* b, float* y, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(add_floats)(a, b, y, count);
}

void sum_columns(const float* x, std::int64_t rows, std::int64_t columns, float* sums) {
  HWY_DYNAMIC_DISPATCH(sum_float_columns)(x, rows, columns, sums);
}

void add(const Context& context, const Tensor& a, const Tensor& b, const Tensor& y) {
  const float* pa = a.data<float>();
  const float* pb = b.data<float>();
  float* py = y.data<float>();
  for_elements(context, y.numel(), [=](std::int64_t begin, std::int64_t end) {
    add_range(pa + begin, pb + begin, py + begin, end - begin);
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

void sum_squares_by_block(const Context& context, const Tensor& x, std::span<double> partials) {
  const float* data = x.data<float>();
  const std::int64_t numel = x.numel();
  for_ranges(context, std::ssize(partials), sum_block_elements, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t first = block * sum_block_elements;
      const std::int64_t count = std::min(sum_block_elements, numel - first);
      partials[static_cast<std::size_t>(block)] = HWY_DYNAMIC_DISPATCH(sum_squares)(data + first, count);
    }
  });
}

}  // namespace dt::kernels::cpu
#endif
