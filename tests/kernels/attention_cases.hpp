#pragma once
// Helpers of the attention tests.

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "kernels/arithmetic.hpp"
#include "kernels/attention.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/fixture.hpp"

namespace dt::kernels::test {

constexpr double infinity = std::numeric_limits<double>::infinity();

inline std::int64_t rows(const AttentionShape& s) {
  return s.batch * s.sequence;
}
inline std::int64_t query(const AttentionShape& s) {
  return s.query_heads * s.head_dim;
}
inline std::int64_t packed(const AttentionShape& s) {
  return (s.query_heads + 2 * s.key_value_heads) * s.head_dim;
}

/// A function that fills first_R for a batch.
using FirstKeys = std::function<Tensor(Fixture&, const AttentionShape&)>;

inline Tensor all_keys(Fixture&, const AttentionShape&) {
  return {};
}
inline FirstKeys window(std::int64_t size) {
  return [size](Fixture& f, const AttentionShape& s) {
    std::vector<std::int32_t> first;
    for (std::int64_t r = 0; r < rows(s); ++r) {
      first.push_back(static_cast<std::int32_t>(std::max<std::int64_t>(0, r % s.sequence - size + 1)));
    }
    return f.ids(first);
  };
}
/// Returns documents of a few tokens, `mean` on average, in sequences that are cut without regard
/// to them.
inline FirstKeys documents(std::int32_t mean) {
  return [mean](Fixture& f, const AttentionShape& s) {
    const Context host(1, Device::host());
    Fixture g(host, DType::f32);
    const Tensor dice = g.random_ids(rows(s), 0, mean, 7);
    std::vector<std::int32_t> first;
    for (std::int64_t r = 0; r < rows(s); ++r) {
      const auto t = static_cast<std::int32_t>(r % s.sequence);
      const bool starts = t == 0 || dice.data<std::int32_t>()[r] == 0;
      first.push_back(starts ? t : first.back());
    }
    return f.ids(first);
  };
}

/// Tolerances for results computed from y and its gradient, which are rounded on the way.
constexpr GpuTolerances in_parts{.f32 = 2e-6, .f16 = 4e-3, .bf16 = 3e-2};

/// Checks a library's kernels, if it has some, and dt's own.
inline void check_gpu_attention(const Case& run) {
  for (const Kernels kernels : {Kernels::any, Kernels::own}) {
    INFO((kernels == Kernels::own ? "own kernels" : "the library's kernels"));
    check_gpu_kernel(run, in_parts, kernels);
  }
}

/// Returns whether the test device, whose threads are fibers, computes this shape quickly.
inline bool is_small(const AttentionShape& s) {
  return rows(s) * s.query_heads <= 900;
}

/// Returns memory for the attention of some queries to some keys.
inline PartialAttention partial(Fixture& f, const AttentionShape& s) {
  return {f.wide_output({rows(s), query(s)}), f.wide_output({s.batch, s.query_heads, s.sequence})};
}

/// Calls body(fixture) with every arithmetic in which a dtype is computed.
inline void for_each_arithmetic(const std::function<void(Fixture&)>& body) {
  const auto run = [&](DType dtype, Arithmetic arithmetic) {
    if (!supports_arithmetic(arithmetic)) return;
    INFO(dtype_name(dtype) << " in " << name_of(arithmetic));
    Context context(1, Device::host());
    context.set_arithmetic(arithmetic);
    Fixture f(context, dtype);
    body(f);
  };
  run(DType::f64, Arithmetic::fp32);
  for_each_instruction_set([&] {
    run(DType::f32, Arithmetic::fp32);
    for (const Arithmetic arithmetic : {Arithmetic::fp32, Arithmetic::bf16, Arithmetic::amx}) {
      run(DType::bf16, arithmetic);
    }
  });
}

/// Runs forward and backward on random inputs. Returns y, lse and dqkv; dqkv lies over qkv if
/// `over_inputs`.
inline std::vector<Tensor> both_passes(Fixture& f, const AttentionShape& s, double scale,
                                       const FirstKeys& first_keys = all_keys, bool over_inputs = false) {
  const Tensor qkv = f.random({rows(s), packed(s)}, 1, scale), dy = f.random({rows(s), query(s)}, 2);
  const Tensor y = f.output({rows(s), query(s)}), lse = f.wide_output({s.batch, s.query_heads, s.sequence});
  const Tensor dqkv = over_inputs ? qkv : f.output({rows(s), packed(s)}), first = first_keys(f, s);
  attention(f.context, s, {first}, packed(s, qkv), y, lse);
  attention_backward(f.context, s, {first}, dy, packed(s, qkv), y, lse, {packed(s, dqkv)});
  return {y, lse, dqkv};
}

/// Positions [begin, end) of each sequence.
struct Chunk {
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
};

/// Copies columns [from, from + width) of a chunk's rows to columns [to, …) of rows that are `row`
/// elements long.
inline Tensor copy_chunk(Fixture& f, const Tensor& rows_RS, std::int64_t batch, const Chunk& chunk,
                         std::int64_t from, std::int64_t width, std::int64_t to, std::int64_t row,
                         Tensor target = {}) {
  if (!target) target = f.output({batch * chunk.size(), row});
  const std::int64_t S = rows_RS.dim(1), sequence = rows_RS.dim(0) / batch;
  for (std::int64_t r = 0; r < target.dim(0); ++r) {
    const std::int64_t t = r / chunk.size() * sequence + chunk.begin + r % chunk.size();
    copy(f.context, rows_RS.flat(t * S + from, width), target.flat(r * row + to, width));
  }
  return target;
}

/// Returns queries of one chunk beside keys and values of another, in tensors of their own, with
/// columns between.
inline QueriesKeysValues apart(Fixture& f, const AttentionShape& s, const Tensor& qkv_RE,
                               const Chunk& queries, const Chunk& keys) {
  const std::int64_t Q = query(s), KD = s.key_value_heads * s.head_dim, B = s.batch;
  const Tensor q = copy_chunk(f, qkv_RE, B, queries, 0, Q, 4, Q + 5);
  const Tensor kv = copy_chunk(f, qkv_RE, B, keys, Q, KD, 1, 2 * KD + 3);
  copy_chunk(f, qkv_RE, B, keys, Q + KD, KD, KD + 2, 2 * KD + 3, kv);
  return {{q, 4}, {kv, 1}, {kv, KD + 2}};
}

}  // namespace dt::kernels::test
