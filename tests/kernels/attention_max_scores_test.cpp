// Tests the largest scores that attention finds in addition to its outputs.

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <utility>
#include <vector>

#include "kernels/arithmetic.hpp"
#include "kernels/attention.hpp"
#include "kernels/attention_cases.hpp"

namespace dt::kernels::test {
namespace {

/// Returns each head's largest scaled product, computed from the definition.
std::vector<double> largest_products(const AttentionShape& s, const Tensor& qkv_RE, const Tensor& first_R) {
  const std::vector<double> values = to_doubles(qkv_RE);
  const std::int64_t E = packed(s), D = s.head_dim;
  std::vector<double> largest(static_cast<std::size_t>(s.query_heads), -infinity);
  for (std::int64_t r = 0; r < rows(s); ++r) {
    const std::int64_t t = r % s.sequence, begin = r - t;
    const std::int64_t first = first_R ? first_R.data<std::int32_t>()[r] : 0;
    for (std::int64_t h = 0; h < s.query_heads; ++h) {
      const double* q = values.data() + r * E + h * D;
      const std::int64_t kv = s.query_heads + h * s.key_value_heads / s.query_heads;
      for (std::int64_t key = first; key <= t; ++key) {
        const double* k = values.data() + (begin + key) * E + kv * D;
        double product = 0;
        for (std::int64_t d = 0; d < D; ++d) product += q[d] * k[d];
        double& most = largest[static_cast<std::size_t>(h)];
        most = std::max(most, score_scale<double>(s) * product);
      }
    }
  }
  return largest;
}

Tensor nothing_yet(Fixture& f, std::int64_t heads) {
  const Tensor largest = f.wide_output({heads});
  fill(f.context, -infinity, largest);
  return largest;
}

/// Calls body(fixture) with every arithmetic, including AMX tiles on processors that lack them.
void for_each_kernel(const std::function<void(Fixture&)>& body) {
  for_each_arithmetic(body);
  if (!supports_arithmetic(Arithmetic::amx_by_loops)) return;
  Context context(1, Device::host());
  context.set_arithmetic(Arithmetic::amx_by_loops);
  Fixture f(context, DType::bf16);
  body(f);
}

}  // namespace

TEST_CASE("attention finds each head's largest scaled product of visible keys and changes nothing else") {
  const std::pair<AttentionShape, FirstKeys> cases[] = {
      {{1, 1, 1, 1, 4}, all_keys},
      {{2, 7, 3, 3, 5}, all_keys},
      {{1, 65, 4, 1, 64}, all_keys},
      {{3, 130, 6, 2, 33}, window(40)},
      {{2, 150, 4, 2, 33, {0.4, 1.5}}, documents(9)},  // capped
      {{1, 200, 4, 2, 80, {0.4, 0}}, window(1)},
      {{1, 97, 2, 2, 128}, documents(30)},
  };
  for_each_kernel([&](Fixture& f) {
    for (const auto& [s, first_keys] : cases) {
      INFO("sequence " << s.sequence << " heads " << s.query_heads << "/" << s.key_value_heads);
      // Products are below 0 where a query sees only its own key. So padding would show as a larger score.
      const Tensor qkv = f.random({rows(s), packed(s)}, 1, 3), first = first_keys(f, s);
      for (std::int64_t r = 0; r < rows(s) && s.query_heads == s.key_value_heads; ++r)
        scale_add(f.context, -1, qkv.flat(r * packed(s), query(s)), {},
                  qkv.flat(r * packed(s) + query(s), query(s)));
      const Tensor y = f.output({rows(s), query(s)}), same_y = f.output({rows(s), query(s)});
      const Tensor lse = f.wide_output({s.batch, s.query_heads, s.sequence}),
                   same_lse = f.wide_output({s.batch, s.query_heads, s.sequence});
      const Tensor largest = nothing_yet(f, s.query_heads);
      attention(f.context, s, {first}, packed(s, qkv), y, lse);
      attention(f.context, s, {first}, packed(s, qkv), same_y, same_lse, largest);
      CHECK(same_bits(y, same_y));
      CHECK(same_bits(lse, same_lse));
      const std::vector<double> expected = largest_products(s, qkv, first);
      for (std::size_t h = 0; h < expected.size(); ++h)
        CHECK(to_doubles(largest)[h] == Approx(expected[h]).epsilon(1e-5).margin(1e-5));
      fill(f.context, 1000, largest);
      attention(f.context, s, {first}, packed(s, qkv), same_y, same_lse, largest);
      CHECK(to_doubles(largest).front() == 1000);  // a larger one stays
    }
  });
}

TEST_CASE("largest scores have the same bits for any blocks of keys and numbers of threads") {
  const AttentionShape whole{2, 128, 4, 2, 33}, half{2, 64, 4, 2, 33};
  for_each_kernel([&](Fixture& f) {
    const Tensor qkv = f.random({rows(whole), packed(whole)}, 1, 3), largest = nothing_yet(f, 4);
    attention(f.context, whole, {}, packed(whole, qkv), f.output({rows(whole), query(whole)}),
              f.wide_output({2, 4, 128}), largest);
    Context threads(2, Device::host());
    threads.set_arithmetic(f.context.arithmetic());
    const Tensor by_threads = nothing_yet(f, 4), by_blocks = nothing_yet(f, 4);
    attention(threads, whole, {}, packed(whole, qkv), f.output({rows(whole), query(whole)}),
              f.wide_output({2, 4, 128}), by_threads);
    for (const std::int64_t queries : {0, 64}) {
      for (const std::int64_t keys : {0, 64}) {
        const QueriesKeysValues block = apart(f, half, qkv, {queries, queries + 64}, {keys, keys + 64});
        const PartialAttention part = partial(f, half);
        attention(f.context, half, {{}, queries, keys}, block, part.y_RQ, part.lse_BHT, by_blocks);
      }
    }
    CHECK(same_bits(largest, by_threads));
    CHECK(same_bits(largest, by_blocks));
  });
}

}  // namespace dt::kernels::test
