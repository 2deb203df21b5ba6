#include "kernels/attention.hpp"
#include "kernels/cuda/code.cuh"
#include "kernels/cuda/kernels.hpp"

namespace dt::kernels::cuda {

namespace {

/// E elements a row, of which the first heads are turned, in pairs of features that lie `half` apart.
struct RotaryShape {
  std::int64_t rows, E, heads, half;
};

template <class T>
__global__ void turn_pairs(RotaryShape shape, const std::int32_t* positions_R, const Value<T>* cos_PD2,
                           const Value<T>* sin_PD2, bool inverse, T* qkv_RE) {
  const std::int64_t pairs = shape.heads * shape.half;
  for (std::int64_t n = first_element(); n < shape.rows * pairs; n += element_stride()) {
    const std::int64_t r = n / pairs, h = n % pairs / shape.half, i = n % shape.half;
    const std::int64_t angle = positions_R[r] * shape.half + i;
    T* const a = qkv_RE + r * shape.E + 2 * h * shape.half + i;
    T* const b = a + shape.half;
    const Value<T> c = cos_PD2[angle], s = inverse ? -sin_PD2[angle] : sin_PD2[angle], x = load(a),
                   y = load(b);
    *a = T(x * c - y * s);
    *b = T(y * c + x * s);
  }
}

}  // namespace

void rotary(const Context& context, const AttentionShape& shape, const Tensor& positions_R,
            const Tensor& cos_PD2, const Tensor& sin_PD2, bool inverse, const Tensor& qkv_RE) {
  const RotaryShape turned{qkv_RE.dim(0), qkv_RE.dim(1), shape.query_heads + shape.key_value_heads,
                           shape.head_dim / 2};
  with_elements(qkv_RE.dtype(), [&](auto element) {
    using T = decltype(element);
    launch(context, "rotary", grid_for(turned.rows * turned.heads * turned.half), turn_pairs<T>, turned,
           positions_R.data<std::int32_t>(), cos_PD2.data<Value<T>>(), sin_PD2.data<Value<T>>(), inverse,
           qkv_RE.data<T>());
  });
}

}  // namespace dt::kernels::cuda
