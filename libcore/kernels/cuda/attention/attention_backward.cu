// Computes attention's gradients. First each warp computes one query's dq, and dy · y, which all
// gradients of the query's weights use. Then each warp computes one key's dk and dv, over the
// queries that see the key. No sum is shared between warps, so no bits depend on their order. dq
// waits in scratch memory, as it may alias q, which the second part reads. dk and dv alias only
// what their own warp reads.
// Legend: as kernels/attention.hpp.
// Source: Dao et al. 2022, algorithm 4.
#include "kernels/cuda/attention/attention_by_library.hpp"
#include "kernels/cuda/attention/attention_problem.cuh"
#include "kernels/cuda/launch/kernels.hpp"

namespace dt::kernels::cuda {

namespace {

template <class T>
struct BackwardInputs {
  HeadRows<const T> q, k, v, dy, y;
  const Value<T>* lse_BHT;
};

template <class T, bool CAPPED>
__global__ void queries_gradients(AttentionProblem p, BackwardInputs<T> in, Value<T>* dq_RQ,
                                  Value<T>* dy_y_BHT) {
  using V = Value<T>;
  const std::int64_t index = warp_index(), lane = threadIdx.x % warp_size;
  if (index >= p.B * p.H * p.Tq) return;
  const WarpTask at = warp_task(index, p.H, p.Tq);
  const std::int64_t group = at.h * p.K / p.H;
  V* const query = of_warp<V>(3 * p.D + warp_size);
  V *const dy = query + p.D, *const sums = dy + p.D, *const dproducts = sums + p.D;
  keep(in.q.row(at.b, at.i, at.h, p.D), p.D, query);
  keep(in.dy.row(at.b, at.i, at.h, p.D), p.D, dy);
  for (std::int64_t d = lane; d < p.D; d += warp_size) sums[d] = 0;
  __syncwarp();

  const V dy_y = dot(dy, in.y.row(at.b, at.i, at.h, p.D), p.D);
  const V lse = in.lse_BHT[index];
  const Scores<V, CAPPED> scores(p);
  const Range seen = visible_keys(p, at.b, at.i);
  for (std::int64_t begin = seen.begin; begin < seen.end; begin += warp_size) {
    const std::int64_t end = begin + warp_size < seen.end ? begin + warp_size : seen.end, s = begin + lane;
    if (s < end) {
      const V score = scores.of(dot(query, in.k.row(at.b, s, group, p.D), p.D)), weight = exp(score - lse);
      dproducts[lane] = scores.through(weight * (dot(dy, in.v.row(at.b, s, group, p.D), p.D) - dy_y), score);
    }
    __syncwarp();
    for (std::int64_t d = lane; d < p.D; d += warp_size) {
      V sum = sums[d];
      for (std::int64_t j = begin; j < end; ++j)
        sum += dproducts[j - begin] * load(in.k.row(at.b, j, group, p.D) + d);
      sums[d] = sum;
    }
    __syncwarp();
  }
  V* const out = dq_RQ + ((at.b * p.Tq + at.i) * p.H + at.h) * p.D;
  for (std::int64_t d = lane; d < p.D; d += warp_size) out[d] = sums[d];
  if (lane == 0) dy_y_BHT[index] = dy_y;
}

/// Adds the gradients of one key by one query head to the warp's sums.
template <class T, bool CAPPED>
__device__ void add_queries(const AttentionProblem& p, const BackwardInputs<T>& in, const Value<T>* dy_y_BHT,
                            const WarpTask& at, std::int64_t h, Value<T>* memory) {
  using V = Value<T>;
  const std::int64_t lane = threadIdx.x % warp_size, head = (at.b * p.H + h) * p.Tq;
  const V *const key = memory, *const value = key + p.D;
  V *const dk = memory + 2 * p.D, *const dv = dk + p.D, *const weights = dv + p.D,
           *const dproducts = weights + warp_size;
  const Scores<V, CAPPED> scores(p);
  const Range seeing = visible_queries(p, at.b, at.i);
  for (std::int64_t begin = seeing.begin; begin < seeing.end; begin += warp_size) {
    const std::int64_t end = begin + warp_size < seeing.end ? begin + warp_size : seeing.end,
                       t = begin + lane;
    if (t < end) {
      const V score = scores.of(dot(key, in.q.row(at.b, t, h, p.D), p.D)),
              weight = exp(score - in.lse_BHT[head + t]);
      weights[lane] = weight;
      dproducts[lane] =
          scores.through(weight * (dot(value, in.dy.row(at.b, t, h, p.D), p.D) - dy_y_BHT[head + t]), score);
    }
    __syncwarp();
    for (std::int64_t d = lane; d < p.D; d += warp_size) {
      V of_key = dk[d], of_value = dv[d];
      for (std::int64_t j = begin; j < end; ++j) {
        of_key += dproducts[j - begin] * load(in.q.row(at.b, j, h, p.D) + d);
        of_value += weights[j - begin] * load(in.dy.row(at.b, j, h, p.D) + d);
      }
      dk[d] = of_key;
      dv[d] = of_value;
    }
    __syncwarp();
  }
}

template <class T, class G, bool CAPPED>
__global__ void keys_gradients(AttentionProblem p, BackwardInputs<T> in, const Value<T>* dy_y_BHT,
                               HeadRows<G> dk, HeadRows<G> dv, bool add) {
  using V = Value<T>;
  const std::int64_t index = warp_index(), lane = threadIdx.x % warp_size;
  if (index >= p.B * p.K * p.Tk) return;
  const WarpTask at = warp_task(index, p.K, p.Tk);
  V* const memory = of_warp<V>(4 * p.D + 2 * warp_size);
  keep(in.k.row(at.b, at.i, at.h, p.D), p.D, memory);
  keep(in.v.row(at.b, at.i, at.h, p.D), p.D, memory + p.D);
  for (std::int64_t d = lane; d < 2 * p.D; d += warp_size) memory[2 * p.D + d] = 0;
  __syncwarp();
  const std::int64_t group = p.H / p.K;
  for (std::int64_t h = at.h * group; h < (at.h + 1) * group; ++h)
    add_queries<T, CAPPED>(p, in, dy_y_BHT, at, h, memory);
  for (std::int64_t d = lane; d < p.D; d += warp_size) {
    put(dk.row(at.b, at.i, at.h, p.D) + d, memory[2 * p.D + d], add);
    put(dv.row(at.b, at.i, at.h, p.D) + d, memory[3 * p.D + d], add);
  }
}

}  // namespace

void attention_backward(const Context& context, const AttentionShape& shape, const Visibility& visibility,
                        const Tensor& dy_RQ, const QueriesKeysValues& qkv, const Tensor& y_RQ,
                        const Tensor& lse_BHT, const AttentionGradients& gradients) {
  if (attention_backward_by_library(context, shape, visibility, dy_RQ, qkv, y_RQ, lse_BHT, gradients)) return;
  const AttentionProblem p(shape, visibility, qkv.k.rows_RS.dim(0));
  const std::int64_t queries = p.B * p.H * p.Tq;
  const Arena::Scope scope(context.scratch());
  with_elements(qkv.q.rows_RS.dtype(), [&](auto element) {
    using T = decltype(element);
    using V = Value<T>;
    const BackwardInputs<T> in{{qkv.q, p.B},   {qkv.k, p.B},  {qkv.v, p.B},
                               {{dy_RQ}, p.B}, {{y_RQ}, p.B}, lse_BHT.data<V>()};
    const Tensor dq_RQ = context.scratch().allocate(dtype_of<V>(), {p.B * p.Tq, p.H * p.D});
    V* const dy_y = context.scratch().allocate(dtype_of<V>(), {queries}).template data<V>();
    with_cap(shape, [&](auto capped) {
      constexpr bool CAPPED = decltype(capped)::value;
      launch(context, "attention_backward of queries", grid_of_warps<V>(queries, 3 * p.D + warp_size),
             queries_gradients<T, CAPPED>, p, in, dq_RQ.template data<V>(), dy_y);
      with_gradients<T>(gradients.to.k, [&](auto gradient) {
        using G = decltype(gradient);
        launch(context, "attention_backward of keys",
               grid_of_warps<V>(p.B * p.K * p.Tk, 4 * p.D + 2 * warp_size), keys_gradients<T, G, CAPPED>, p,
               in, dy_y, HeadRows<G>(gradients.to.k, p.B), HeadRows<G>(gradients.to.v, p.B),
               gradients.add_kv);
      });
    });
    with_gradients<T>(gradients.to.q, [&](auto gradient) {
      using G = decltype(gradient);
      launch(context, "attention_backward's dq", grid_for(queries * p.D), put_rows<V, G>,
             HeadRows<const V>({dq_RQ}, p.B), HeadRows<G>(gradients.to.q, p.B), p.B * p.Tq, p.H * p.D,
             gradients.add_q);
    });
  });
}

}  // namespace dt::kernels::cuda
