#include <algorithm>

#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/simd/parallel.hpp"

#ifndef DT_KERNELS_CPU_ROTARY
#define DT_KERNELS_CPU_ROTARY
namespace dt::kernels::cpu {

/// Adjacent heads of a row, and the cosines and sines of its position. The heads are multiplied by
/// `factor`, too. The sines are multiplied by `direction`, 1 or −1.
template <class T>
struct TurnedHeads {
  T* first;
  std::int64_t heads, head_dim, frequencies;
  const float *cosine, *sine;
  float direction, factor;
};

}  // namespace dt::kernels::cpu
#endif

#define HWY_TARGET_INCLUDE "kernels/cpu/rotary.cpp"
#include "kernels/cpu/simd/simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

template <bool has_factor, class T>
void rotate_halves(const TurnedHeads<T>& turned) {
  const V scale = hn::Set(floats, turned.factor), sign = hn::Set(floats, turned.direction * turned.factor);
  const std::int64_t half = turned.frequencies, step = turned.head_dim;
  const float *cosine = turned.cosine, *sine = turned.sine;
  T* head = turned.first;
  for (std::int64_t h = turned.heads; h > 0; --h, head += step) {
    for_lanes(half, [=](std::int64_t i, auto lanes) HWY_ATTR {
      const V a = load(lanes, head + i), b = load(lanes, head + half + i);
      V c = load(lanes, cosine + i);
      if constexpr (has_factor) c = hn::Mul(c, scale);
      const V s = hn::Mul(load(lanes, sine + i), sign);
      store(lanes, hn::NegMulAdd(b, s, hn::Mul(a, c)), head + i);
      store(lanes, hn::MulAdd(a, s, hn::Mul(b, c)), head + half + i);
    });
  }
}

/// Returns v with the two of each pair of elements in each other's place.
HWY_INLINE V swap_pairs(V v) {
#if HWY_TARGET == HWY_SCALAR
  return v;
#else
  return hn::Reverse2(floats, v);
#endif
}

/// Goes along the features first, so that the vectors of cosines and sines, twice each, are made once for
/// all heads.
template <class T>
void rotate_pairs(const TurnedHeads<T>& turned) {
  const auto cosine = [&](std::int64_t pair) { return turned.cosine[pair] * turned.factor; };
  const auto sine = [&](std::int64_t pair) { return turned.sine[pair] * turned.direction * turned.factor; };
  const std::int64_t features = 2 * turned.frequencies;
  if constexpr (num_lanes == 1) {
    for (std::int64_t h = 0; h < turned.heads; ++h) {
      for (std::int64_t i = 0; i < features; i += 2) {
        T* pair = turned.first + h * turned.head_dim + i;
        const V a = load(All{}, pair), b = load(All{}, pair + 1);
        const V c = hn::Set(floats, cosine(i / 2)), s = hn::Set(floats, sine(i / 2));
        store(All{}, hn::NegMulAdd(b, s, hn::Mul(a, c)), pair);
        store(All{}, hn::MulAdd(a, s, hn::Mul(b, c)), pair + 1);
      }
    }
  } else {
    for_lanes(features, [&](std::int64_t i, auto lanes) HWY_ATTR {
      HWY_ALIGN float cosines[num_lanes] = {}, sines[num_lanes] = {};
      for (std::int64_t lane = 0; lane < std::min(num_lanes, features - i); ++lane) {
        const std::int64_t pair = (i + lane) / 2;
        cosines[lane] = cosine(pair);
        sines[lane] = lane % 2 == 0 ? -sine(pair) : sine(pair);
      }
      const V c = hn::Load(floats, cosines), s = hn::Load(floats, sines);
      for (std::int64_t h = 0; h < turned.heads; ++h) {
        T* place = turned.first + h * turned.head_dim + i;
        const V x = load(lanes, place);
        store(lanes, hn::MulAdd(swap_pairs(x), s, hn::Mul(x, c)), place);
      }
    });
  }
}

/// Multiplies the features that do not rotate.
template <class T>
void scale_rest(const TurnedHeads<T>& turned) {
  const std::int64_t first = 2 * turned.frequencies;
  const V scale = hn::Set(floats, turned.factor);
  T* rest = turned.first + first;
  for (std::int64_t h = 0; h < turned.heads; ++h, rest += turned.head_dim) {
    for_lanes(turned.head_dim - first, [=](std::int64_t i, auto lanes) HWY_ATTR {
      store(lanes, hn::Mul(load(lanes, rest + i), scale), rest + i);
    });
  }
}

template <class T>
void rotate_heads(const TurnedHeads<T>& turned, bool is_interleaved) {
  const bool has_factor = turned.factor != 1;
  if (is_interleaved)
    rotate_pairs(turned);
  else if (has_factor)
    rotate_halves<true>(turned);
  else
    rotate_halves<false>(turned);
  if (has_factor) scale_rest(turned);
}

template <class T>
void rotate_rows(const Context& context, const AttentionShape& shape, const Tensor& positions_R,
                 const Rotation& rotation, bool inverse, const Tensor& qkv_RE) {
  const std::int64_t R = qkv_RE.dim(0), E = qkv_RE.dim(1), F = rotation.cos_PF.dim(1), D = shape.head_dim;
  const std::int64_t H = shape.query_heads, K = shape.key_value_heads;
  const std::int32_t* positions = positions_R.data<std::int32_t>();
  const float* cosine = rotation.cos_PF.data<float>();
  const float* sine = rotation.sin_PF.data<float>();
  const float* factors = rotation.query_factor_P ? rotation.query_factor_P.data<float>() : nullptr;
  const bool is_interleaved = rotation.is_interleaved;
  const float direction = inverse ? -1.0f : 1.0f;
  T* qkv = qkv_RE.data<T>();
  for_ranges(context, R, E, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int64_t p = positions[r];
      TurnedHeads<T> turned{qkv + r * E, H + K, D, F, cosine + p * F, sine + p * F, direction, 1};
      if (factors) {
        turned.heads = H;
        turned.factor = factors[p];
        rotate_heads(turned, is_interleaved);
        turned.first += H * D;
        turned.heads = K;
        turned.factor = 1;
      }
      rotate_heads(turned, is_interleaved);
    }
  });
}

void rotary(const Context& context, const AttentionShape& shape, const Tensor& positions_R,
            const Rotation& rotation, bool inverse, const Tensor& qkv_RE) {
  with_elements(qkv_RE.dtype(), [&](auto element) HWY_ATTR {
    rotate_rows<decltype(element)>(context, shape, positions_R, rotation, inverse, qkv_RE);
  });
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(rotary);

void rotary(const Context& context, const AttentionShape& shape, const Tensor& positions_R,
            const Rotation& rotation, bool inverse, const Tensor& qkv_RE) {
  HWY_DYNAMIC_DISPATCH(rotary)(context, shape, positions_R, rotation, inverse, qkv_RE);
}

}  // namespace dt::kernels::cpu
#endif
