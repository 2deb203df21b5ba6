#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/simd/parallel.hpp"

#define HWY_TARGET_INCLUDE "kernels/cpu/rotary.cpp"
#include "kernels/cpu/simd/simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

template <class T>
void rotate_heads(T* row, const float* cosine, const float* sine, float direction, std::int64_t heads,
                  std::int64_t head_dim) {
  const std::int64_t half = head_dim / 2;
  const V sign = hn::Set(floats, direction);
  for (std::int64_t h = 0; h < heads; ++h, row += head_dim) {
    for_lanes(half, [=](std::int64_t i, auto lanes) HWY_ATTR {
      const V a = load(lanes, row + i), b = load(lanes, row + half + i);
      const V c = load(lanes, cosine + i), s = hn::Mul(load(lanes, sine + i), sign);
      store(lanes, hn::NegMulAdd(b, s, hn::Mul(a, c)), row + i);
      store(lanes, hn::MulAdd(a, s, hn::Mul(b, c)), row + half + i);
    });
  }
}

template <class T>
void rotate_rows(const Context& context, const AttentionShape& shape, const Tensor& positions_R,
                 const Tensor& cos_PD2, const Tensor& sin_PD2, bool inverse, const Tensor& qkv_RE) {
  const std::int64_t R = qkv_RE.dim(0), E = qkv_RE.dim(1), half = shape.head_dim / 2;
  const std::int64_t heads = shape.query_heads + shape.key_value_heads;
  const std::int32_t* positions = positions_R.data<std::int32_t>();
  const float* cosine = cos_PD2.data<float>();
  const float* sine = sin_PD2.data<float>();
  T* qkv = qkv_RE.data<T>();
  for_ranges(context, R, E, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int64_t angle = positions[r] * half;
      rotate_heads(qkv + r * E, cosine + angle, sine + angle, inverse ? -1.0f : 1.0f, heads, shape.head_dim);
    }
  });
}

void rotary(const Context& context, const AttentionShape& shape, const Tensor& positions_R,
            const Tensor& cos_PD2, const Tensor& sin_PD2, bool inverse, const Tensor& qkv_RE) {
  with_elements(qkv_RE.dtype(), [&](auto element) HWY_ATTR {
    rotate_rows<decltype(element)>(context, shape, positions_R, cos_PD2, sin_PD2, inverse, qkv_RE);
  });
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(rotary);

void rotary(const Context& context, const AttentionShape& shape, const Tensor& positions_R,
            const Tensor& cos_PD2, const Tensor& sin_PD2, bool inverse, const Tensor& qkv_RE) {
  HWY_DYNAMIC_DISPATCH(rotary)(context, shape, positions_R, cos_PD2, sin_PD2, inverse, qkv_RE);
}

}  // namespace dt::kernels::cpu
#endif
