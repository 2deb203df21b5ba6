#include "kernels/attention.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <omp.h>
#include <stdexcept>
#include <utility>

#include "kernels/arithmetic.hpp"
#include "kernels/attention_cases.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/fixture.hpp"

namespace dt::kernels::test {
namespace {

const AttentionShape shapes[] = {
    {1, 1, 1, 1, 1},                 // a token that sees itself
    {2, 1, 4, 2, 8},                 //
    {1, 7, 3, 3, 5},                 // less than a block, an odd head dim
    {2, 64, 2, 2, 64},               // exactly a block
    {1, 65, 4, 1, 64},               // one token more; one key-value head for all
    {3, 130, 6, 2, 33},              // groups of three
    {1, 200, 4, 2, 128},             // a wide head
    {1, 97, 2, 1, 80},               //
    {2, 70, 4, 2, 33, {0.4, 0}},     // scores that are scaled
    {2, 150, 4, 2, 33, {0.4, 1.5}},  // and capped
    {1, 20, 3, 1, 8, {0, 1}},        //
};

TEST_CASE("messages advance while attention computes") {
  Context context(1, Device::host());
  Fixture f(context, DType::f32);
  int polls = 0;
  context.set_poll([&] { ++polls; });
  both_passes(f, {1, 1024, 8, 2, 16}, 1);
  CHECK(polls > 10);  // more than each kernel's first poll
}

TEST_CASE("what polling throws within a team of threads comes out of the kernel") {
  Context context(2, Device::host());
  Fixture f(context, DType::f32);
  context.set_poll([] {
    if (omp_in_parallel()) throw std::runtime_error("a peer is lost");
  });
  // The first thread polls between jobs of its own, and may get none in a single call.
  const auto compute = [&] {
    for (int i = 0; i < 1000; ++i) both_passes(f, {1, 256, 4, 2, 16}, 1);
  };
  CHECK_THROWS_WITH(compute(), "a peer is lost");
}

TEST_CASE("attention of the first token is its value, and of the second a softmax of two") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f64);
  const AttentionShape shape{1, 2, 1, 1, 1};  // rows: q, k, v
  const Tensor y = f.output({2, 1}), lse = f.output({1, 1, 2});
  const Tensor qkv = f.values({2, 3}, {1, 2, 10, 3, std::log(3.0) / 3, 20});
  attention(context, shape, {}, packed(shape, qkv), y, lse);
  const double first = std::exp(6.0), second = 3;  // e^(q·k) of the second row
  CHECK(to_doubles(y)[0] == 10);
  CHECK(to_doubles(lse)[0] == Approx(2));
  CHECK(to_doubles(y)[1] == Approx((10 * first + 20 * second) / (first + second)));
  CHECK(to_doubles(lse)[1] == Approx(std::log(first + second)));
}

TEST_CASE("attention scales scores by the root of the head dim") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f64);
  const AttentionShape shape{1, 1, 1, 1, 4};
  const Tensor y = f.output({1, 4}), lse = f.output({1, 1, 1});
  const Tensor qkv = f.values({1, 12}, {1, 2, 3, 4, 1, 1, 1, 1, 5, 6, 7, 8});
  attention(context, shape, {}, packed(shape, qkv), y, lse);
  CHECK(to_doubles(lse)[0] == Approx(10 / 2.0));
}

TEST_CASE("attention scales scores by a factor and caps them softly") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f64);
  const Tensor y = f.output({1, 4}), lse = f.output({1, 1, 1});
  const Tensor qkv = f.values({1, 12}, {1, 2, 3, 4, 1, 1, 1, 1, 5, 6, 7, 8});  // q·k = 10
  const std::pair<ScoreTransform, double> cases[] = {
      {{0.3, 0}, 3}, {{0, 4}, 4 * std::tanh(5 / 4.0)}, {{0.3, 2}, 2 * std::tanh(3 / 2.0)}};
  for (const auto& [scores, score] : cases) {
    const AttentionShape shape{1, 1, 1, 1, 4, scores};
    attention(context, shape, {}, packed(shape, qkv), y, lse);
    CHECK(to_doubles(lse)[0] == Approx(score));
  }
}

TEST_CASE("soft caps are as accurate as fp32, and keep NaN") {
  std::vector<double> products;
  for (double x = 1e-6; x < 30; x *= 1.01) products.insert(products.end(), {x, -x});
  products.insert(products.end(), {0, infinity, -infinity});
  const auto count = std::ssize(products);
  for_each_instruction_set([&] {
    const Context context(1, Device::host());
    Fixture f(context, DType::f32);
    // Each sequence has one token, whose lse is its score.
    const AttentionShape shape{count, 1, 1, 1, 1, {1, 1}};
    const Tensor q = f.values({count, 1}, products),
                 ones = f.values({count, 1}, std::vector(products.size(), 1.0));
    const Tensor y = f.output({count, 1}), lse = f.output({count, 1, 1});
    attention(context, shape, {}, {{q}, {ones}, {ones}}, y, lse);
    for (std::size_t i = 0; i < products.size(); ++i) {
      const double expected = std::tanh(products[i]);
      CHECK(std::abs(to_doubles(lse)[i] - expected) <= 5e-7 * std::abs(expected));
    }
    const AttentionShape one{1, 1, 1, 1, 1, {1, 1}};
    const Tensor nan = f.values({1, 1}, {std::nan("")}), one_y = f.output({1, 1}),
                 one_lse = f.output({1, 1, 1});
    fill(context, 0, one_lse);
    attention(context, one, {}, {{nan}, {nan}, {nan}}, one_y, one_lse);
    CHECK(std::isnan(to_doubles(one_lse)[0]));
  });
}

TEST_CASE("query heads share key-value heads in groups") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f64);
  const AttentionShape shape{1, 1, 4, 2, 1};
  const Tensor y = f.output({1, 4}), lse = f.output({1, 4, 1});
  attention(context, shape, {}, packed(shape, f.values({1, 8}, {1, 1, 1, 1, 2, 3, 50, 60})), y, lse);
  CHECK(to_doubles(y) == std::vector<double>{50, 50, 60, 60});
  CHECK(to_doubles(lse)[1] == Approx(2));
  CHECK(to_doubles(lse)[2] == Approx(3));
}

TEST_CASE("attention_backward is attention's gradient") {
  const std::pair<AttentionShape, FirstKeys> cases[] = {{{2, 5, 2, 2, 3}, all_keys},
                                                        {{1, 4, 4, 2, 2}, all_keys},
                                                        {{2, 6, 2, 1, 3}, window(3)},
                                                        {{2, 7, 2, 1, 2}, documents(3)},
                                                        {{1, 6, 2, 1, 3, {1.3, 0}}, all_keys},
                                                        {{1, 6, 2, 2, 5, {0, 0.5}}, window(3)},
                                                        {{2, 7, 2, 1, 3, {1.3, 0.8}}, documents(3)}};
  for (const auto& [s, first_keys] : cases) {
    const Context context(1, Device::host());
    Fixture f(context, DType::f64);
    const Tensor qkv = f.random({rows(s), packed(s)}, 1), dy = f.random({rows(s), query(s)}, 2);
    const Tensor y = f.output({rows(s), query(s)}), lse = f.output({s.batch, s.query_heads, s.sequence});
    const Tensor dqkv = f.output({rows(s), packed(s)}), first = first_keys(f, s);
    attention(context, s, {first}, packed(s, qkv), y, lse);
    attention_backward(context, s, {first}, dy, packed(s, qkv), y, lse, {packed(s, dqkv)});
    const auto loss = [&, &s = s] {
      attention(context, s, {first}, packed(s, qkv), y, lse);
      return weighted_sum(y, dy);
    };
    check_gradient(loss, qkv, dqkv);
  }
}

TEST_CASE("fast attention agrees with its reference", "[device][slow]") {
  for (const AttentionShape& s : shapes) {
    INFO("batch " << s.batch << " sequence " << s.sequence << " heads " << s.query_heads << "/"
                  << s.key_value_heads << " head dim " << s.head_dim);
    check_fast_kernel([&](Fixture& f) { return both_passes(f, s, 1); });
    check_fast_half_kernel([&](Fixture& f) { return both_passes(f, s, 1); });
    if (is_small(s)) check_gpu_attention([&](Fixture& f) { return both_passes(f, s, 1); });
  }
}

TEST_CASE("fast attention agrees with its reference over several blocks of a long sequence", "[slow]") {
  const AttentionShape shape{1, 1300, 2, 1, 64};
  check_fast_kernel([&](Fixture& f) { return both_passes(f, shape, 1); });
  check_fast_half_kernel([&](Fixture& f) { return both_passes(f, shape, 1); });
}

TEST_CASE("fast attention agrees with its reference where a window or documents hide keys",
          "[device][slow]") {
  const std::pair<AttentionShape, FirstKeys> cases[] = {
      {{2, 70, 2, 1, 8}, window(1)},         // each token sees itself
      {{1, 300, 2, 1, 33}, window(17)},      //
      {{1, 520, 2, 2, 64}, window(128)},     // whole blocks
      {{1, 1300, 2, 1, 16}, window(300)},    // blocks that are skipped
      {{3, 130, 6, 2, 20}, documents(5)},    // several in a block
      {{2, 700, 4, 2, 64}, documents(100)},  //
      {{1, 1300, 2, 1, 32}, documents(400)},
      {{2, 300, 2, 1, 33, {1, 2}}, window(17)},
      {{2, 260, 2, 1, 64, {0, 0.5}}, documents(20)},
  };
  for (const auto& [s, first_keys] : cases) {
    INFO("batch " << s.batch << " sequence " << s.sequence << " heads " << s.query_heads << "/"
                  << s.key_value_heads << " head dim " << s.head_dim);
    const Case run = [&, &s = s, &first_keys = first_keys](Fixture& f) {
      return both_passes(f, s, 1, first_keys);
    };
    check_fast_kernel(run);
    check_fast_half_kernel(run);
    if (is_small(s)) check_gpu_attention(run);
  }
}

TEST_CASE("odd shapes of attention on a GPU agree with their reference", "[device]") {
  for (const AttentionShape& s : {AttentionShape{1, 7, 3, 3, 5},
                                  {2, 35, 4, 2, 9},
                                  {2, 20, 4, 2, 8, {0.7, 1.5}},
                                  {1, 16, 2, 1, 8, {0.3, 0}}})
    for (const FirstKeys& first : {FirstKeys(all_keys), documents(5)})
      check_gpu_attention([&](Fixture& f) { return both_passes(f, s, 1, first, s.batch > 1); });
}

TEST_CASE("attention_backward over queries, keys and values gives the same bits", "[device][slow]") {
  const std::pair<AttentionShape, FirstKeys> cases[] = {
      {{1, 130, 6, 2, 33}, all_keys},
      {{1, 520, 2, 1, 64}, all_keys},     // several chunks of keys add to a query
      {{1, 300, 1, 1, 16}, window(140)},  // the first chunks are outside the window
      {{5, 60, 2, 1, 8}, documents(20)},  // several batch entries in sequence
      {{2, 200, 2, 1, 24, {1, 2}}, window(60)},
  };
  for (const auto& [s, first_keys] : cases) {
    INFO("batch " << s.batch << " sequence " << s.sequence);
    const Case run = [&, &s = s, &first_keys = first_keys](Fixture& f) {
      const Tensor apart = both_passes(f, s, 1, first_keys).back();
      const Tensor qkv = f.random({rows(s), packed(s)}, 1), dy = f.random({rows(s), query(s)}, 2);
      const Tensor y = f.output({rows(s), query(s)}), first = first_keys(f, s);
      const Tensor lse = f.wide_output({s.batch, s.query_heads, s.sequence});
      attention(f.context, s, {first}, packed(s, qkv), y, lse);
      attention_backward(f.context, s, {first}, dy, packed(s, qkv), y, lse, {packed(s, qkv)});
      if (f.context.device() == Device::host()) CHECK(same_bits(qkv, apart));
      return std::vector{qkv};
    };
    check_fast_kernel(run);
    check_fast_half_kernel(run);
    if (is_small(s)) check_gpu_attention(run);
  }
}

TEST_CASE("attention does not overflow at extreme scores") {
  // Scores reach ±900, so one key takes all weight. fp32 rounds them to 1e-4, so the tolerance is
  // loose.
  const AttentionShape shape{1, 100, 2, 2, 8};
  check_fast_kernel([&](Fixture& f) { return both_passes(f, shape, 30); }, Threads::any, 1e-3);
}

TEST_CASE("attention refuses shapes that do not fit") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f32);
  const AttentionShape shape{1, 2, 2, 1, 4}, uneven{1, 2, 3, 2, 4};
  const Tensor qkv = f.random({2, 16}, 1), y = f.output({2, 8}), lse = f.output({1, 2, 2}),
               wrong = f.output({2, 7});
  check_refused("attention", [&] { attention(context, shape, {}, packed(shape, wrong), y, lse); });
  check_refused("attention", [&] { attention(context, shape, {}, packed(shape, qkv), wrong, lse); });
  check_refused("attention", [&] { attention(context, shape, {}, packed(shape, qkv), y, wrong); });
  for (const std::vector<std::int32_t>& first : {std::vector{0, 2}, {-1, 0}, {1, 1}, {0}}) {
    check_refused("attention",
                  [&] { attention(context, shape, {f.ids(first)}, packed(shape, qkv), y, lse); });
  }
  check_refused("attention", [&] {
    attention(context, uneven, {}, packed(uneven, f.random({2, 28}, 1)), y, lse);
  });
  for (const ScoreTransform& scores : {ScoreTransform{0, -1}, {-1, 0}, {std::nan(""), 0}, {0, infinity}}) {
    const AttentionShape bent{1, 2, 2, 1, 4, scores};
    check_refused("attention", [&] { attention(context, bent, {}, packed(bent, qkv), y, lse); });
  }
  check_refused("attention_backward", [&] {
    attention_backward(context, shape, {}, y, packed(shape, qkv), y, lse, {packed(shape, wrong)});
  });
}

TEST_CASE("attention in tiles has the bits of the loops that stand in for them") {
  if (!supports_arithmetic(Arithmetic::amx)) return;
  const AttentionShape shapes[] = {
      {1, 1, 1, 1, 8}, {2, 75, 4, 2, 24}, {1, 300, 2, 1, 64}, {1, 161, 1, 1, 80}, {2, 161, 2, 1, 24, {1, 3}}};
  for (const AttentionShape& shape : shapes) {
    for (const FirstKeys& first_keys : {FirstKeys(all_keys), window(40), documents(30)}) {
      std::vector<std::vector<Tensor>> results;
      Context context(2, Device::host());
      Fixture fixture(context, DType::bf16);
      for (const Arithmetic arithmetic : {Arithmetic::amx, Arithmetic::amx_by_loops}) {
        context.set_arithmetic(arithmetic);
        results.push_back(both_passes(fixture, shape, 3, first_keys));
      }
      for (std::size_t i = 0; i < results[0].size(); ++i) CHECK(same_bits(results[0][i], results[1][i]));
    }
  }
}

TEST_CASE("heads have the same bits in whichever columns they lie") {
  const AttentionShape s{2, 90, 4, 2, 20};
  for_each_arithmetic([&](Fixture& f) {
    const Tensor rows_RE = f.random({180, packed(s)}, 1);
    const Tensor y = f.output({180, query(s)}), other = f.output({180, query(s)});
    const Tensor lse = f.wide_output({2, 4, 90});
    attention(f.context, s, {}, packed(s, rows_RE), y, lse);
    attention(f.context, s, {}, apart(f, s, rows_RE, {0, 90}, {0, 90}), other, lse);
    CHECK(same_bits(y, other));
  });
}

TEST_CASE("gradients in the inputs' dtype are those in f32, rounded, and may lie over the inputs") {
  const AttentionShape s{1, 140, 2, 1, 24};
  const Chunk all{0, 140};
  for_each_arithmetic([&](Fixture& f) {
    const Tensor packed_rows = f.random({140, packed(s)}, 1), dy = f.random({140, query(s)}, 2);
    const QueriesKeysValues qkv = apart(f, s, packed_rows, all, all);
    const Tensor y = f.output({140, query(s)}), lse = f.wide_output({1, 2, 140});
    attention(f.context, s, {}, qkv, y, lse);
    const QueriesKeysValues wide{
        {f.wide_output({140, 48})}, {f.wide_output({140, 24})}, {f.wide_output({140, 24})}};
    attention_backward(f.context, s, {}, dy, qkv, y, lse, {wide});
    attention_backward(f.context, s, {}, dy, qkv, y, lse, {qkv});
    for (const auto& [sums, rounded] :
         {std::pair{wide.q, qkv.q}, std::pair{wide.k, qkv.k}, std::pair{wide.v, qkv.v}}) {
      const std::int64_t width = sums.rows_RS.dim(1);
      const Tensor expected = f.output(sums.rows_RS.shape());
      cast(f.context, sums.rows_RS, expected);
      CHECK(same_bits(copy_chunk(f, rounded.rows_RS, 1, all, rounded.first, width, 0, width), expected));
    }
    CHECK(std::isnan(to_doubles(qkv.q.rows_RS)[3]));  // columns beside those of the queries
    CHECK(std::isnan(to_doubles(qkv.k.rows_RS)[0]));
  });
}

TEST_CASE("documents of any lengths in one run of rows attend as each would alone") {
  const std::vector<std::int32_t> bounds{0, 1, 1, 40, 80, 97};  // one empty document, a short last one
  const AttentionShape s{1, 97, 2, 1, 8};
  for_each_arithmetic([&](Fixture& f) {
    const Tensor qkv = f.random({97, packed(s)}, 1), y = f.output({97, query(s)}),
                 lse = f.wide_output({1, 2, 97});
    const Tensor first = f.ids(std::vector<std::int32_t>(97, -1));
    document_starts(f.context, f.ids(bounds), first);
    attention(f.context, s, {first}, packed(s, qkv), y, lse);
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
      const std::int64_t begin = bounds[i], end = bounds[i + 1];
      if (begin == end) continue;
      const AttentionShape one{1, end - begin, 2, 1, 8};
      const Tensor alone = f.output({end - begin, query(s)}), lse_alone = f.wide_output({1, 2, end - begin});
      attention(f.context, one, {}, packed(one, qkv.rows(begin, end)), alone, lse_alone);
      CHECK(relative_error(y.rows(begin, end), alone) < 1e-2);
    }
  });
}

}  // namespace
}  // namespace dt::kernels::test
