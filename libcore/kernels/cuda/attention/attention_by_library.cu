// Computes attention by a library, which writes 16-bit rows. Results that are fp32, that are added
// to their targets, or that alias the library's inputs go through scratch memory. A backward pass
// that gives the same bits each time takes memory for a weight of each query and key, or sums dq in
// order (choose_backward_algorithm). Masks take as much memory. So only as many sequences, or heads
// of one sequence, are computed at a time as fit a bound, but at least one. Heads do not depend on
// each other.
// Legend: as kernels/attention.hpp; S keys.
#include <algorithm>
#include <initializer_list>

#include "kernels/cuda/attention/attention_by_library.hpp"
#include "kernels/cuda/attention/attention_problem.cuh"
#include "kernels/cuda/attention/fused_attention.hpp"
#include "kernels/cuda/launch/kernels.hpp"

namespace dt::kernels::cuda {

namespace {

/// Writes the mask, which the library adds to the scores: 0 for seen keys, `hidden` for the others.
/// A hidden key has no weight beside a seen one, whatever the scores.
template <class T>
__global__ void add_hidden(AttentionProblem p, T* added_BTS, float hidden) {
  for (std::int64_t i = first_element(); i < p.B * p.Tq * p.Tk; i += element_stride()) {
    const WarpTask at = warp_task(i, p.Tq, p.Tk);  // h: the query
    const Range seen = visible_keys(p, at.b, at.h);
    added_BTS[i] = T(at.i >= seen.begin && at.i < seen.end ? 0 : hidden);
  }
}

Tensor hidden_keys(const Context& context, DType dtype, const AttentionProblem& p) {
  const Tensor added_BTS = context.scratch().allocate(dtype, {p.B, p.Tq, p.Tk});
  const auto hidden = static_cast<float>(std::max(-1e30, -largest_finite(dtype)));
  visit_dtype(NarrowFloatTypes(), dtype, "mask of the attention library", [&](auto element) {
    using T = decltype(element);
    launch(context, "attention's mask", grid_for(added_BTS.numel()), add_hidden<T>, p, added_BTS.data<T>(),
           hidden);
  });
  return added_BTS;
}

/// Returns the mask of a problem. It is added if it is neither a triangle nor all keys: for
/// documents, for windows, and for both against keys that lie before the queries.
Mask mask_of(const AttentionProblem& p) {
  const std::int64_t ahead = p.query_position - p.key_position;
  if (p.first_R != nullptr) return Mask::added;
  if (ahead == 0 && p.Tq == p.Tk) return Mask::causal;
  return ahead >= p.Tk - 1 ? Mask::none : Mask::added;
}

/// Returns whether each query sees a key of the call, whatever first_R says. For a query that sees
/// none, the library returns the mean of what is hidden from it.
bool all_see(const AttentionProblem& p) {
  const std::int64_t ahead = p.query_position - p.key_position;
  return ahead >= 0 && (p.first_R == nullptr || ahead + p.Tq <= p.Tk);
}

__device__ inline bool sees_any(const AttentionProblem& p, std::int64_t b, std::int64_t t) {
  const Range seen = visible_keys(p, b, t);
  return seen.begin < seen.end;
}

/// Sets y = 0 and lse = −∞ for queries that see no key of the call.
template <class Y>
__global__ void clear_unseeing(AttentionProblem p, Y* y_RQ, float* lse_BHT) {
  const std::int64_t Q = p.H * p.D;
  for (std::int64_t i = first_element(); i < p.B * p.Tq * Q; i += element_stride()) {
    const std::int64_t row = i / Q, b = row / p.Tq, t = row % p.Tq;
    if (sees_any(p, b, t)) continue;
    y_RQ[i] = Y(0.0F);
    if (i % p.D == 0) lse_BHT[(b * p.H + i % Q / p.D) * p.Tq + t] = -INFINITY;
  }
}

void clear_unseeing_rows(const Context& context, const AttentionProblem& p, const Tensor& y_RQ,
                         const Tensor& lse_BHT) {
  using Types = Joined<TypeList<float>, NarrowFloatTypes>;
  visit_dtype(Types(), y_RQ.dtype(), "result of the attention library", [&](auto element) {
    using Y = decltype(element);
    launch(context, "attention's unseeing queries", grid_for(y_RQ.numel()), clear_unseeing<Y>, p,
           y_RQ.data<Y>(), lse_BHT.data<float>());
  });
}

/// Replaces lse = −∞ by a finite value, with which the weights e^(score − lse) of a query that saw no
/// key are 0 for all keys. So are its gradients.
__global__ void hide_unseeing(std::int64_t count, const float* lse, float* finite) {
  for (std::int64_t i = first_element(); i < count; i += element_stride())
    finite[i] = lse[i] == -INFINITY ? 1e30F : lse[i];
}

Tensor finite_lse(const Context& context, const Tensor& lse_BHT) {
  const Tensor finite_BHT = context.scratch().allocate(DType::f32, lse_BHT.shape());
  launch(context, "attention_backward's unseeing queries", grid_for(lse_BHT.numel()), hide_unseeing,
         lse_BHT.numel(), lse_BHT.data<float>(), finite_BHT.data<float>());
  return finite_BHT;
}

bool is_aligned(const Columns& columns) {
  constexpr std::int64_t elements = 8;  // 16-bit elements of the widest loads
  return reinterpret_cast<std::uintptr_t>(columns.rows_RS.raw()) % 16 == 0 && columns.first % elements == 0 &&
         columns.rows_RS.dim(1) % elements == 0;
}

/// Returns whether to ask the library. Reports rows that are not aligned, as no model has them.
bool is_askable(const Context& context, const AttentionShape& shape, const QueriesKeysValues& qkv,
                std::initializer_list<Columns> others) {
  if (context.reference_only() || dtype_bytes(qkv.q.rows_RS.dtype()) != 2 || shape.head_dim % 8 != 0)
    return false;
  const bool all_aligned = is_aligned(qkv.q) && is_aligned(qkv.k) && is_aligned(qkv.v) &&
                           std::all_of(others.begin(), others.end(), is_aligned);
  if (!all_aligned) record_attention_fallback("attention of rows that do not begin at multiples of 16 bytes");
  return all_aligned;
}

/// Some sequences with all of their heads, or some groups of one sequence. A group is a key-value
/// head with its query heads.
struct ChunkRange {
  std::int64_t batch, batches, group, groups;
};

/// Calls body(chunk) for each chunk, until it returns false. Returns true if all calls did.
template <class Body>
bool for_chunks(const AttentionProblem& p, const AttentionChunk& at_a_time, const Body& body) {
  const auto [batches, groups] = at_a_time;
  for (std::int64_t batch = 0; batch < p.B; batch += batches)
    for (std::int64_t group = 0; group < p.K; group += groups)
      if (!body(ChunkRange{batch, batches, group, groups})) return false;
  return true;
}

/// Cuts a whole problem's tensors into chunks.
struct ChunkViews {
  const AttentionShape& shape;

  std::int64_t group() const { return shape.query_heads / shape.key_value_heads; }
  Columns columns(const Columns& all, const ChunkRange& s, std::int64_t heads_of_group) const {
    const std::int64_t rows = all.rows_RS.dim(0) / shape.batch;
    return {all.rows_RS.rows(s.batch * rows, (s.batch + s.batches) * rows),
            all.first + s.group * heads_of_group * shape.head_dim};
  }
  Columns of_queries(const Columns& all, const ChunkRange& s) const { return columns(all, s, group()); }
  QueriesKeysValues all(const QueriesKeysValues& qkv, const ChunkRange& s) const {
    return {of_queries(qkv.q, s), columns(qkv.k, s, 1), columns(qkv.v, s, 1)};
  }
  AttentionShape part(const ChunkRange& s) const {
    return {s.batches, shape.sequence, s.groups * group(), s.groups, shape.head_dim, shape.scores};
  }
  Tensor lse(const Tensor& all_BHT, const ChunkRange& s) const {
    const AttentionShape chunk = part(s);
    const std::int64_t first = s.batch * shape.query_heads + s.group * group();
    return all_BHT.flat(first * shape.sequence, chunk.batch * chunk.query_heads * chunk.sequence)
        .reshaped({chunk.batch, chunk.query_heads, chunk.sequence});
  }
  Visibility visibility(const Visibility& all, const ChunkRange& s) const {
    if (!all.first_R) return all;
    return {all.first_R.rows(s.batch * shape.sequence, (s.batch + s.batches) * shape.sequence),
            all.query_position, all.key_position};
  }
};

/// Returns whether the library's backward pass can do without the weights' gradients on the context's
/// GPU.
bool orders_sums(const Context& context) {
  const int ordered = attention_library().ordered_major;
  return ordered != 0 &&
         accelerator().gpus().at(static_cast<std::size_t>(context.device().index())).major == ordered;
}

/// Returns the call of a chunk, with its mask in scratch memory.
FusedAttention fused(const Context& context, const ChunkViews& cut, const ChunkRange& s, Mask mask,
                     const Visibility& visibility, const QueriesKeysValues& qkv, const Columns& y,
                     const Tensor& lse_BHT) {
  FusedAttention call{cut.part(s), mask, cut.all(qkv, s), cut.of_queries(y, s), cut.lse(lse_BHT, s), {}};
  if (mask == Mask::added)
    call.added_BTT = hidden_keys(context, y.rows_RS.dtype(),
                                 {call.shape, cut.visibility(visibility, s), call.qkv.k.rows_RS.dim(0)});
  return call;
}

/// Returns whether the library can write the gradients in place: they are aligned rows of its dtype
/// that alias none of its inputs and are not added to.
bool is_writable(DType dtype, const QueriesKeysValues& qkv, const AttentionGradients& gradients) {
  const auto is_apart = [&](const Columns& to, const Columns& from) {
    return to.rows_RS.dtype() == dtype && to.rows_RS.raw() != from.rows_RS.raw() && is_aligned(to);
  };
  const auto& [q, k, v] = gradients.to;
  return !gradients.add_q && !gradients.add_kv && is_apart(q, qkv.q) && is_apart(k, qkv.k) &&
         is_apart(v, qkv.v);
}

QueriesKeysValues gradients_in_scratch(const Context& context, DType dtype, const AttentionProblem& p) {
  const Tensor dq_RQ = context.scratch().allocate(dtype, {p.B * p.Tq, p.H * p.D});
  const Tensor dkv = context.scratch().allocate(dtype, {p.B * p.Tk, 2 * p.K * p.D});
  return {{dq_RQ}, {dkv}, {dkv, p.K * p.D}};
}
/// Copies or adds the gradients to their targets.
template <class T>
void put_gradients(const Context& context, const AttentionProblem& p, const QueriesKeysValues& from,
                   const AttentionGradients& to) {
  const auto put = [&](const Columns& source, const Columns& target, std::int64_t width, bool add) {
    with_gradients<T>(target, [&](auto gradient) {
      using G = decltype(gradient);
      const std::int64_t rows = source.rows_RS.dim(0);
      launch(context, "attention_backward's gradients", grid_for(rows * width), put_rows<T, G>,
             HeadRows<const T>(source, p.B), HeadRows<G>(target, p.B), rows, width, add);
    });
  };
  put(from.q, to.to.q, p.H * p.D, to.add_q);
  put(from.k, to.to.k, p.K * p.D, to.add_kv);
  put(from.v, to.to.v, p.K * p.D, to.add_kv);
}

}  // namespace

bool attention_by_library(const Context& context, const AttentionShape& shape, const Visibility& visibility,
                          const QueriesKeysValues& qkv, const Tensor& y_RQ, const Tensor& lse_BHT) {
  const AttentionProblem p(shape, visibility, qkv.k.rows_RS.dim(0));
  if (!is_askable(context, shape, qkv, {{y_RQ}})) return false;
  const Mask mask = mask_of(p);
  const DType dtype = qkv.q.rows_RS.dtype();
  const Arena::Scope scope(context.scratch());
  const Tensor rounded_RQ = y_RQ.dtype() == dtype ? y_RQ : context.scratch().allocate(dtype, y_RQ.shape());
  const ChunkViews cut{shape};
  const std::int64_t bytes_of_group = mask == Mask::added ? 1 + square_bytes(p.Tq, p.Tk) / p.K : 1;
  const bool is_done = for_chunks(p, attention_chunk(p.B, p.K, bytes_of_group), [&](const ChunkRange& s) {
    const Arena::Scope scope_of_slice(context.scratch());
    return attend(context, fused(context, cut, s, mask, visibility, qkv, {rounded_RQ}, lse_BHT));
  });
  if (!is_done) return false;
  if (y_RQ.dtype() != dtype) cuda::cast(context, rounded_RQ, y_RQ);
  if (!all_see(p)) clear_unseeing_rows(context, p, y_RQ, lse_BHT);
  return true;
}

bool attention_backward_by_library(const Context& context, const AttentionShape& shape,
                                   const Visibility& visibility, const Tensor& dy_RQ,
                                   const QueriesKeysValues& qkv, const Tensor& y_RQ, const Tensor& lse_BHT,
                                   const AttentionGradients& gradients) {
  const AttentionProblem p(shape, visibility, qkv.k.rows_RS.dim(0));
  if (!is_askable(context, shape, qkv, {{y_RQ}, {dy_RQ}})) return false;
  const Mask mask = mask_of(p);
  const DType dtype = qkv.q.rows_RS.dtype();
  const Arena::Scope scope(context.scratch());
  const bool in_place = is_writable(dtype, qkv, gradients);
  const QueriesKeysValues written = in_place ? gradients.to : gradients_in_scratch(context, dtype, p);
  const ChunkViews cut{shape};
  const Tensor finite_BHT = all_see(p) ? lse_BHT : finite_lse(context, lse_BHT);
  const BackwardAlgorithm way =
      choose_backward_algorithm(shape, p.Tk, mask == Mask::added, orders_sums(context));
  const bool is_done = for_chunks(p, way.at_a_time, [&](const ChunkRange& s) {
    const Arena::Scope scope_of_slice(context.scratch());
    return attend_backward(context, fused(context, cut, s, mask, visibility, qkv, {y_RQ}, finite_BHT),
                           {cut.of_queries({dy_RQ}, s), cut.all(written, s)});
  });
  if (!is_done || in_place) return is_done;
  visit_dtype(NarrowFloatTypes(), dtype, "gradient of the attention library",
              [&](auto element) { put_gradients<decltype(element)>(context, p, written, gradients); });
  return true;
}

}  // namespace dt::kernels::cuda
