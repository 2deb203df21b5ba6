// Tests attention that takes a block of keys at a time, as ranks of a ring compute it. Legend: as
// kernels/attention.hpp.
#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "kernels/arithmetic.hpp"
#include "kernels/attention_cases.hpp"
#include "kernels/cuda/attention/attention_by_library.hpp"
#include "kernels/elementwise.hpp"

namespace dt::kernels::test {
namespace {

/// Returns queries of one chunk beside keys and values of another, in tensors aligned as a GPU's
/// library requires.
QueriesKeysValues aligned(Fixture& f, const AttentionShape& s, const Tensor& qkv_RE, const Chunk& queries,
                          const Chunk& keys) {
  const std::int64_t Q = query(s), KD = s.key_value_heads * s.head_dim;
  return {{copy_chunk(f, qkv_RE, s.batch, queries, 0, Q, 0, Q)},
          {copy_chunk(f, qkv_RE, s.batch, keys, Q, KD, 0, KD)},
          {copy_chunk(f, qkv_RE, s.batch, keys, Q + KD, KD, 0, KD)}};
}

Tensor first_of(Fixture& f, const Tensor& first_R, std::int64_t batch, const Chunk& queries) {
  if (!first_R) return {};
  const std::int64_t sequence = first_R.dim(0) / batch;
  const Tensor first = f.ids(std::vector<std::int32_t>(static_cast<std::size_t>(batch * queries.size())));
  for (std::int64_t b = 0; b < batch; ++b)
    copy(f.context, first_R.flat(b * sequence + queries.begin, queries.size()),
         first.flat(b * queries.size(), queries.size()));
  return first;
}

/// A sequence in chunks, and the order in which each chunk's queries meet all chunks' keys.
struct Ring {
  std::vector<Chunk> chunks;
  std::vector<std::vector<std::size_t>> order;
};
Ring in_order(const std::vector<std::int64_t>& bounds) {
  Ring ring;
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) ring.chunks.push_back({bounds[i], bounds[i + 1]});
  std::vector<std::size_t> all(ring.chunks.size());
  std::iota(all.begin(), all.end(), 0u);
  ring.order.assign(ring.chunks.size(), all);
  return ring;
}
/// Returns the ring in which rank r of `ranks` has chunks r and 2·ranks − 1 − r. Keys come from the
/// rank before.
Ring zigzag(std::int64_t sequence, std::size_t ranks) {
  const std::size_t count = 2 * ranks;
  std::vector<std::int64_t> bounds;
  for (std::size_t i = 0; i <= count; ++i) {
    bounds.push_back(static_cast<std::int64_t>(i) * sequence / static_cast<std::int64_t>(count));
  }
  Ring ring = in_order(bounds);
  for (std::size_t c = 0; c < count; ++c) {
    ring.order[c].clear();
    for (std::size_t step = 0; step < ranks; ++step) {
      const std::size_t other = (std::min(c, count - 1 - c) + ranks - step) % ranks;
      ring.order[c].insert(ring.order[c].end(), {other, count - 1 - other});
    }
  }
  return ring;
}

struct Problem {
  AttentionShape shape;
  FirstKeys first_keys;
  Ring ring;
  AttentionShape of(const Chunk& queries) const {
    AttentionShape s = shape;
    s.sequence = queries.size();
    return s;
  }
};

/// Returns y, lse, dq, dk and dv of packed rows, the gradients in f32 or f64.
std::vector<Tensor> whole(Fixture& f, const Problem& p) {
  const AttentionShape& s = p.shape;
  const Tensor qkv = f.random({rows(s), packed(s)}, 1), dy = f.random({rows(s), query(s)}, 2);
  const Tensor y = f.output({rows(s), query(s)}), lse = f.wide_output({s.batch, s.query_heads, s.sequence});
  const std::int64_t KD = s.key_value_heads * s.head_dim;
  const Tensor dq = f.wide_output({rows(s), query(s)}), dk = f.wide_output({rows(s), KD}),
               dv = f.wide_output({rows(s), KD}), first = p.first_keys(f, s);
  attention(f.context, s, {first}, packed(s, qkv), y, lse);
  attention_backward(f.context, s, {first}, dy, packed(s, qkv), y, lse, {{{dq}, {dk}, {dv}}});
  return {y, lse, dq, dk, dv};
}

/// Computes the attention of a chunk's queries to all keys, one block after the other.
PartialAttention attend_in_blocks(Fixture& f, const Problem& p, const Tensor& qkv, const Tensor& first_R,
                                  std::size_t chunk) {
  const Chunk& queries = p.ring.chunks[chunk];
  const AttentionShape s = p.of(queries);
  const PartialAttention sum = partial(f, s), part = partial(f, s),
                         all{f.output({rows(s), query(s)}), sum.lse_BHT};
  const Tensor first = first_of(f, first_R, s.batch, queries);
  const std::vector<std::size_t>& order = p.ring.order[chunk];
  const PartialAttention& first_part = order.size() == 1 ? all : sum;
  for (const std::size_t block : order) {
    const Chunk& keys = p.ring.chunks[block];
    const PartialAttention& to = block == order.front() ? first_part : part;
    attention(f.context, s, {first, queries.begin, keys.begin}, apart(f, s, qkv, queries, keys), to.y_RQ,
              to.lse_BHT);
    if (&to == &part) merge_attention(f.context, s, sum, part, block == order.back() ? all : sum);
  }
  return all;
}

/// The gradients of a chunk in f32 or f64, with columns between them.
struct ChunkGradients {
  QueriesKeysValues to;
  bool has_kv = false;
};
ChunkGradients gradients_of(Fixture& f, const AttentionShape& s) {
  const std::int64_t Q = query(s), KD = s.key_value_heads * s.head_dim;
  const Tensor dq = f.wide_output({rows(s), Q + 2}), dkv = f.wide_output({rows(s), 2 * KD + 1});
  return {{{dq, 1}, {dkv, 0}, {dkv, KD + 1}}};
}

/// Copies a chunk's part of rows or of columns into those of all chunks.
/// Shapes: `source` has the chunk's rows; `target` has B·T rows.
void put(Fixture& f, const Tensor& source, std::int64_t from, std::int64_t batch, const Chunk& chunk,
         const Tensor& target) {
  const std::int64_t sequence = target.dim(0) / batch, width = target.dim(1), S = source.dim(1);
  for (std::int64_t r = 0; r < source.dim(0); ++r) {
    const std::int64_t t = r / chunk.size() * sequence + chunk.begin + r % chunk.size();
    copy(f.context, source.flat(r * S + from, width), target.flat(t * width, width));
  }
}

/// Returns the same results as `whole`, computed by chunks of queries and of keys.
std::vector<Tensor> in_blocks(Fixture& f, const Problem& p) {
  const AttentionShape& s = p.shape;
  const std::int64_t B = s.batch, H = s.query_heads, KD = s.key_value_heads * s.head_dim;
  const Tensor qkv = f.random({rows(s), packed(s)}, 1), dy = f.random({rows(s), query(s)}, 2);
  const Tensor first_R = p.first_keys(f, s), y = f.output({rows(s), query(s)});
  const Tensor lse = f.wide_output({B * H * s.sequence, 1}), dq = f.wide_output({rows(s), query(s)}),
               dk = f.wide_output({rows(s), KD}), dv = f.wide_output({rows(s), KD});
  std::vector<ChunkGradients> gradients;
  for (const Chunk& chunk : p.ring.chunks) gradients.push_back(gradients_of(f, p.of(chunk)));
  for (std::size_t c = 0; c < p.ring.chunks.size(); ++c) {
    const Chunk& queries = p.ring.chunks[c];
    const AttentionShape of_chunk = p.of(queries);
    const PartialAttention all = attend_in_blocks(f, p, qkv, first_R, c);
    put(f, all.y_RQ, 0, B, queries, y);
    put(f, all.lse_BHT.reshaped({B * H * queries.size(), 1}), 0, B * H, queries, lse);
    const Tensor first = first_of(f, first_R, B, queries),
                 dy_of_chunk = copy_chunk(f, dy, B, queries, 0, query(s), 0, query(s));
    for (const std::size_t block : p.ring.order[c]) {
      const Chunk& keys = p.ring.chunks[block];
      ChunkGradients& kv = gradients[block];
      attention_backward(
          f.context, of_chunk, {first, queries.begin, keys.begin}, dy_of_chunk,
          apart(f, s, qkv, queries, keys), all.y_RQ, all.lse_BHT,
          {{gradients[c].to.q, kv.to.k, kv.to.v}, block != p.ring.order[c].front(), kv.has_kv});
      kv.has_kv = true;
    }
  }
  for (std::size_t c = 0; c < p.ring.chunks.size(); ++c) {
    const auto& [q, k, v] = gradients[c].to;
    put(f, q.rows_RS, q.first, B, p.ring.chunks[c], dq);
    put(f, k.rows_RS, k.first, B, p.ring.chunks[c], dk);
    put(f, v.rows_RS, v.first, B, p.ring.chunks[c], dv);
  }
  return {y, lse.reshaped({B, H, s.sequence}), dq, dk, dv};
}

const Problem problems[] = {
    {{1, 1, 1, 1, 1}, all_keys, in_order({0, 1})},
    {{2, 3, 2, 1, 3}, all_keys, in_order({0, 1, 2, 3})},            // one token per chunk
    {{1, 150, 3, 1, 20}, all_keys, in_order({0, 1, 64, 65, 150})},  // unequal lengths
    {{2, 70, 6, 2, 33}, documents(9), in_order({0, 17, 33, 70})},   // grouped heads, an odd head dim
    {{1, 300, 2, 2, 64}, window(40), zigzag(300, 2)},               // blocks outside the window
    {{2, 260, 4, 2, 16}, all_keys, zigzag(260, 2)},                 //
    {{1, 333, 2, 1, 40}, documents(50), zigzag(333, 4)},            //
    {{1, 1400, 2, 1, 32}, all_keys, in_order({0, 700, 1400})},      // several chunks of the backward pass
    {{1, 1100, 1, 1, 16}, window(300), in_order({0, 130, 131, 900, 1100})},  //
    {{2, 150, 4, 2, 33, {0.9, 1.5}}, documents(9), zigzag(150, 2)},          // capped scores
};

void check_in_blocks(DType dtype, Arithmetic arithmetic, double tolerance) {
  if (dtype != DType::f64 && !supports_arithmetic(arithmetic)) return;
  for (const Problem& p : problems) {
    INFO(dtype_name(dtype) << " in " << name_of(arithmetic) << ", sequence " << p.shape.sequence
                           << ", chunks " << p.ring.chunks.size());
    Context context(2, Device::host());
    context.set_arithmetic(arithmetic);
    Fixture f(context, dtype);
    const std::vector<Tensor> expected = whole(f, p), outputs = in_blocks(f, p);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      INFO("output " << i);
      CHECK(relative_error(outputs[i], expected[i]) < tolerance);
    }
  }
}

TEST_CASE("attention to blocks of keys, merged, is attention to all, and so are its gradients") {
  check_in_blocks(DType::f64, Arithmetic::fp32, 1e-12);
  check_in_blocks(DType::f32, Arithmetic::fp32, 1e-5);
  check_in_blocks(DType::f16, Arithmetic::fp32, 2e-2);
  for (const Arithmetic arithmetic :
       {Arithmetic::fp32, Arithmetic::bf16, Arithmetic::amx, Arithmetic::amx_by_loops}) {
    check_in_blocks(DType::bf16, arithmetic, 2e-2);
  }
}

TEST_CASE("fast attention to blocks of keys agrees with its reference", "[device][slow]") {
  for (const Problem& p : {problems[0], problems[2], problems[3], problems[4], problems[9]}) {
    INFO("sequence " << p.shape.sequence << ", chunks " << p.ring.chunks.size());
    check_fast_kernel([&](Fixture& f) { return in_blocks(f, p); });
    check_fast_half_kernel([&](Fixture& f) { return in_blocks(f, p); });
    if (is_small(p.shape)) check_gpu_attention([&](Fixture& f) { return in_blocks(f, p); });
  }
}

TEST_CASE("a GPU's library attends to blocks of keys that documents and windows hide", "[device]") {
  const AttentionShape s{2, 24, 4, 2, 16};
  const Chunk chunks[] = {{0, 24}, {24, 48}, {48, 72}};
  const AttentionShape all{2, 72, 4, 2, 16};
  for (const FirstKeys& first_keys : {window(30), documents(25)})
    for (const Chunk& keys : chunks) {
      CAPTURE(keys.begin);
      check_gpu_kernel(
          [&](Fixture& f) -> std::vector<Tensor> {
            const Tensor first = first_of(f, first_keys(f, all), 2, chunks[2]);
            const Tensor rows_RE = f.random({rows(all), packed(all)}, 1),
                         dy = f.random({rows(s), query(s)}, 2);
            const QueriesKeysValues qkv = aligned(f, s, rows_RE, chunks[2], keys);
            const Visibility visibility{first, chunks[2].begin, keys.begin};
            const bool asks_library = f.context.device() != Device::host() &&
                                      !attention_library().name.empty() && dtype_bytes(rows_RE.dtype()) == 2;
            const auto attend = [&](const Tensor& y, const Tensor& lse) {
              if (asks_library) {
                CHECK(cuda::attention_by_library(f.context, s, visibility, qkv, y, lse));
              } else {
                attention(f.context, s, visibility, qkv, y, lse);
              }
            };
            const Tensor y = f.output({rows(s), query(s)}), lse = f.wide_output({2, 4, 24});
            const PartialAttention part = partial(f, s);
            attend(y, lse);
            attend(part.y_RQ, part.lse_BHT);
            const auto attend_backward = [&](const Tensor& dq, const Tensor& dkv) {
              const AttentionGradients to{{{dq}, {dkv}, {dkv, 2 * 16}}};
              if (asks_library) {
                CHECK(cuda::attention_backward_by_library(f.context, s, visibility, dy, qkv, y, lse, to));
              } else {
                attention_backward(f.context, s, visibility, dy, qkv, y, lse, to);
              }
            };
            const Tensor dq = f.output({rows(s), query(s)}), dkv = f.output({rows(s), 2 * 2 * 16}),
                         wide_dq = f.wide_output(dq.shape()), wide_dkv = f.wide_output(dkv.shape());
            attend_backward(dq, dkv);
            attend_backward(wide_dq, wide_dkv);
            // The lse of queries that see none of the block is −∞. It has no distance, so its place
            // is compared.
            const std::vector<double> sums = to_doubles(f.on_host(lse));
            std::vector<double> sees, finite;
            for (const double sum : sums) {
              sees.push_back(sum == -infinity ? 0 : 1);
              finite.push_back(sum == -infinity ? 0 : sum);
            }
            return {y, part.y_RQ, dq, dkv, wide_dq, wide_dkv, f.values({192}, finite), f.values({192}, sees)};
          },
          in_parts);
    }
}

TEST_CASE("odd shapes of attention to blocks on a GPU agree with their reference", "[device]") {
  const Problem small{{1, 37, 4, 2, 9}, documents(9), in_order({0, 1, 33, 37})};
  const Problem capped{{1, 37, 4, 2, 9, {0.8, 1.5}}, window(9), in_order({0, 20, 37})};
  for (const Problem& p : {problems[1], small, capped})
    check_gpu_attention([&](Fixture& f) { return in_blocks(f, p); });
}

TEST_CASE("attention_backward of a block is the gradient of attention to it") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f64);
  // Queries 2 … 6 of a sequence meet its keys 3 … 6: the first query sees none.
  const AttentionShape s{2, 5, 2, 1, 3};
  const Tensor q = f.random({10, 7}, 1), k = f.random({8, 3}, 2), v = f.random({8, 4}, 3),
               dy = f.random({10, 6}, 4);
  const Tensor dq = f.output({10, 6}), dk = f.output({8, 3}), dv = f.output({8, 3});
  const Visibility visibility{f.ids({0, 0, 0, 4, 4, 0, 2, 3, 3, 5}), 2, 3};
  const QueriesKeysValues qkv{{q, 1}, {k}, {v, 1}};
  const Tensor y = f.output({10, 6}), lse = f.output({2, 2, 5});
  const auto loss = [&] {
    attention(context, s, visibility, qkv, y, lse);
    return weighted_sum(y, dy);
  };
  loss();
  attention_backward(context, s, visibility, dy, qkv, y, lse, {{{dq}, {dk}, {dv}}});
  const Tensor of_q = f.values({10, 7}, std::vector<double>(70)),
               of_v = f.values({8, 4}, std::vector<double>(32));
  for (std::int64_t r = 0; r < 10; ++r)
    std::copy_n(dq.data<double>() + r * 6, 6, of_q.data<double>() + r * 7 + 1);
  for (std::int64_t r = 0; r < 8; ++r)
    std::copy_n(dv.data<double>() + r * 3, 3, of_v.data<double>() + r * 4 + 1);
  check_gradient(loss, q, of_q);
  check_gradient(loss, k, dk);
  check_gradient(loss, v, of_v);
}

TEST_CASE("attention to blocks refuses what does not fit") {
  const Context context(1, Device::host());
  Fixture f(context, DType::bf16);
  const AttentionShape s{2, 2, 2, 1, 4};
  const Tensor q = f.random({4, 8}, 1), kv = f.random({6, 8}, 2), y = f.output({4, 8}),
               dkv = f.output({6, 8});
  const Tensor lse = f.wide_output({2, 2, 2}), sums = f.wide_output({4, 8});
  const QueriesKeysValues good{{q}, {kv}, {kv, 4}};
  const auto refused = [&](const Visibility& visibility, const QueriesKeysValues& qkv) {
    check_refused("attention", [&] { attention(context, s, visibility, qkv, y, lse); });
  };
  attention(context, s, {f.ids({3, 4, 0, 1}), 3, 0}, good, y, lse);
  refused({{}, -1, 0}, good);
  refused({{}, 0, -1}, good);
  refused({f.ids({3, 5, 0, 1}), 3, 0}, good);
  refused({f.ids({3, 2, 0, 1}), 3, 0}, good);
  refused({}, {{q, 1}, {kv}, {kv, 4}});
  refused({}, {{q, -1}, {kv}, {kv, 4}});
  refused({}, {{q}, {kv}, {kv, 5}});
  refused({}, {{q}, {kv.rows(0, 5)}, {kv.rows(0, 5), 4}});
  refused({}, {{q}, {kv}, {kv.rows(0, 4), 4}});
  refused({}, {{q}, {sums}, {sums, 4}});
  const auto backward = [&](const AttentionGradients& gradients) {
    attention_backward(context, s, {}, y, good, y, lse, gradients);
  };
  backward({{{sums}, {dkv}, {dkv, 4}}, true});
  const auto refused_gradients = [&](const AttentionGradients& gradients) {
    check_refused("attention_backward", [&] { backward(gradients); });
  };
  refused_gradients({{{q}, {dkv}, {dkv, 4}}, true});
  refused_gradients({{{sums}, {dkv}, {dkv, 4}}, false, true});
  refused_gradients({{{sums}, {dkv}, {dkv, 5}}});
  refused_gradients({{{sums}, {dkv}, {f.wide_output({6, 4})}}});
  const PartialAttention part{sums, lse};
  check_refused("merge_attention", [&] { merge_attention(context, s, {y, lse}, part, part); });
  check_refused("merge_attention", [&] { merge_attention(context, s, part, part, {sums, y}); });
  for (const std::vector<std::int32_t>& bounds : {std::vector{0, 3}, {1, 4}, {0, 3, 2, 4}, {}}) {
    check_refused("document_starts", [&] { document_starts(context, f.ids(bounds), f.ids({0, 0, 0, 0})); });
  }
}

}  // namespace
}  // namespace dt::kernels::test
