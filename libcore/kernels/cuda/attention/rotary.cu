#include "base/numeric/integer.hpp"
#include "kernels/cuda/launch/kernels.hpp"
#include "kernels/cuda/launch/vec.cuh"
#include "kernels/rotary.hpp"

namespace dt::kernels::cuda {

namespace {

/// E elements a row. The first heads of a row, of D features each, are rotated. Of these the first
/// `query_heads` are multiplied by their position's factor. A head has so many vecs of pairs, and behind
/// them vecs of features that do not rotate, if they have a factor.
struct RotaryShape {
  std::int64_t rows, E, D, frequencies;
  unsigned heads, query_heads, pair_vecs, vecs;
};

template <class T>
struct RotaryTensors {
  const std::int32_t* positions_R;
  const Value<T>*cos_PF, *sin_PF, *factor_P;
  T* qkv_RE;
};

/// A vector's place: its head in a row, its number in the head.
struct HeadVec {
  unsigned head, vec;
  std::int64_t position;
};

template <class T>
__device__ Value<T> factor_at(const RotaryShape& shape, const RotaryTensors<T>& p, const HeadVec& own) {
  return p.factor_P != nullptr && own.head < shape.query_heads ? p.factor_P[own.position] : 1;
}

/// Multiplies a vector of features that do not rotate.
template <class T>
__device__ void scale_vec(const RotaryShape& shape, const RotaryTensors<T>& p, const HeadVec& own, T* head) {
  constexpr int N = vec_size<T>;
  if (own.head >= shape.query_heads) return;
  const std::int64_t i = 2 * shape.frequencies + (own.vec - shape.pair_vecs) * N, left = shape.D - i;
  const Value<T> factor = p.factor_P[own.position];
  auto x = load_vec<N>(head + i, left);
  for (int e = 0; e < N; ++e) x.at[e] *= factor;
  store_vec<N>(head + i, left, x);
}

/// Calls turn(place, head) for the vectors of pairs of this thread.
template <class T, class Turn>
__device__ void for_head_vecs(const RotaryShape& shape, const RotaryTensors<T>& p, const Turn& turn) {
  for_vecs<1>(shape.rows, shape.heads * shape.vecs, [&](std::int64_t r, std::int64_t n, std::int64_t) {
    const HeadVec own{static_cast<unsigned>(n) / shape.vecs, static_cast<unsigned>(n) % shape.vecs,
                      p.positions_R[r]};
    T* const head = p.qkv_RE + r * shape.E + own.head * shape.D;
    if (own.vec < shape.pair_vecs)
      turn(own, head);
    else
      scale_vec(shape, p, own, head);
  });
}

/// Turns pairs of features that lie `frequencies` apart.
template <class T>
__global__ void turn_pairs(RotaryShape shape, RotaryTensors<T> p, bool inverse) {
  constexpr int N = vec_size<T>;
  for_head_vecs(shape, p, [&](const HeadVec& own, T* head) {
    const std::int64_t i = own.vec * N, angle = own.position * shape.frequencies + i,
                       left = shape.frequencies - i;
    T *const a = head + i, *const b = a + shape.frequencies;
    const auto cos = load_vec<N>(p.cos_PF + angle, left), sin = load_vec<N>(p.sin_PF + angle, left);
    const Value<T> factor = factor_at(shape, p, own);
    auto x = load_vec<N>(a, left), y = load_vec<N>(b, left);
    for (int e = 0; e < N; ++e) {
      const Value<T> c = cos.at[e] * factor, s = (inverse ? -sin.at[e] : sin.at[e]) * factor,
                     turned = x.at[e] * c - y.at[e] * s;
      y.at[e] = y.at[e] * c + x.at[e] * s;
      x.at[e] = turned;
    }
    store_vec<N>(a, left, x);
    store_vec<N>(b, left, y);
  });
}

/// Turns pairs of features that lie side by side.
template <class T>
__global__ void turn_adjacent_pairs(RotaryShape shape, RotaryTensors<T> p, bool inverse) {
  constexpr int N = vec_size<T>;
  for_head_vecs(shape, p, [&](const HeadVec& own, T* head) {
    const std::int64_t pair = own.vec * (N / 2), angle = own.position * shape.frequencies + pair,
                       left = shape.frequencies - pair;
    T* const a = head + 2 * pair;
    const auto cos = load_vec<N / 2>(p.cos_PF + angle, left), sin = load_vec<N / 2>(p.sin_PF + angle, left);
    const Value<T> factor = factor_at(shape, p, own);
    auto x = load_vec<N>(a, 2 * left);
    for (int e = 0; e < N; e += 2) {
      const Value<T> c = cos.at[e / 2] * factor, s = (inverse ? -sin.at[e / 2] : sin.at[e / 2]) * factor,
                     turned = x.at[e] * c - x.at[e + 1] * s;
      x.at[e + 1] = x.at[e + 1] * c + x.at[e] * s;
      x.at[e] = turned;
    }
    store_vec<N>(a, 2 * left, x);
  });
}

}  // namespace

void rotary(const Context& context, const AttentionShape& shape, const Tensor& positions_R,
            const Rotation& rotation, bool inverse, const Tensor& qkv_RE) {
  const std::int64_t F = rotation.cos_PF.dim(1), D = shape.head_dim;
  with_elements(qkv_RE.dtype(), [&](auto element) {
    using T = decltype(element);
    using V = Value<T>;
    constexpr std::int64_t N = vec_size<T>;
    const std::int64_t pair_vecs = ceil_div(rotation.is_interleaved ? 2 * F : F, N),
                       rest = rotation.query_factor_P ? ceil_div(D - 2 * F, N) : 0;
    const RotaryShape turned{.rows = qkv_RE.dim(0),
                             .E = qkv_RE.dim(1),
                             .D = D,
                             .frequencies = F,
                             .heads = static_cast<unsigned>(shape.query_heads + shape.key_value_heads),
                             .query_heads = static_cast<unsigned>(shape.query_heads),
                             .pair_vecs = static_cast<unsigned>(pair_vecs),
                             .vecs = static_cast<unsigned>(pair_vecs + rest)};
    const RotaryTensors<T> tensors{positions_R.data<std::int32_t>(), rotation.cos_PF.data<V>(),
                                   rotation.sin_PF.data<V>(), elements<V>(rotation.query_factor_P),
                                   qkv_RE.data<T>()};
    launch(context, "rotary", grid_for_vecs(1, turned.rows, turned.heads * turned.vecs),
           rotation.is_interleaved ? turn_adjacent_pairs<T> : turn_pairs<T>, turned, tensors, inverse);
  });
}

}  // namespace dt::kernels::cuda
