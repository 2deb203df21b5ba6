#include "base/numeric/integer.hpp"
#include "kernels/attention.hpp"
#include "kernels/cuda/launch/kernels.hpp"
#include "kernels/cuda/launch/vec.cuh"

namespace dt::kernels::cuda {

namespace {

/// E elements a row. The first heads of a row are rotated, in pairs of features that lie `half`
/// apart, so many vecs a head.
struct RotaryShape {
  std::int64_t rows, E, half;
  unsigned heads, vecs;
};

template <class T>
__global__ void turn_pairs(RotaryShape shape, const std::int32_t* positions_R, const Value<T>* cos_PD2,
                           const Value<T>* sin_PD2, bool inverse, T* qkv_RE) {
  constexpr int N = vec_size<T>;
  for_vecs<1>(shape.rows, shape.heads * shape.vecs, [&](std::int64_t r, std::int64_t n, std::int64_t) {
    const unsigned h = static_cast<unsigned>(n) / shape.vecs, i = static_cast<unsigned>(n) % shape.vecs * N;
    const std::int64_t angle = positions_R[r] * shape.half + i, left = shape.half - i;
    T* const a = qkv_RE + r * shape.E + 2 * h * shape.half + i;
    T* const b = a + shape.half;
    const auto cos = load_vec<N>(cos_PD2 + angle, left), sin = load_vec<N>(sin_PD2 + angle, left);
    auto x = load_vec<N>(a, left), y = load_vec<N>(b, left);
    for (int e = 0; e < N; ++e) {
      const Value<T> c = cos.at[e], s = inverse ? -sin.at[e] : sin.at[e], turned = x.at[e] * c - y.at[e] * s;
      y.at[e] = y.at[e] * c + x.at[e] * s;
      x.at[e] = turned;
    }
    store_vec<N>(a, left, x);
    store_vec<N>(b, left, y);
  });
}

}  // namespace

void rotary(const Context& context, const AttentionShape& shape, const Tensor& positions_R,
            const Tensor& cos_PD2, const Tensor& sin_PD2, bool inverse, const Tensor& qkv_RE) {
  const std::int64_t half = shape.head_dim / 2;
  with_elements(qkv_RE.dtype(), [&](auto element) {
    using T = decltype(element);
    const RotaryShape turned{qkv_RE.dim(0), qkv_RE.dim(1), half,
                             static_cast<unsigned>(shape.query_heads + shape.key_value_heads),
                             static_cast<unsigned>(ceil_div(half, vec_size<T>))};
    launch(context, "rotary", grid_for_vecs(1, turned.rows, turned.heads * turned.vecs), turn_pairs<T>,
           turned, positions_R.data<std::int32_t>(), cos_PD2.data<Value<T>>(), sin_PD2.data<Value<T>>(),
           inverse, qkv_RE.data<T>());
  });
}

}  // namespace dt::kernels::cuda
