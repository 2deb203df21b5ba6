// Tests that attention sees the keys that it should, and that no others have weight.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "kernels/attention_cases.hpp"

namespace dt::kernels::test {
namespace {

TEST_CASE("attention sees no key before the first visible one") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f64);
  const AttentionShape shape{2, 3, 1, 1, 1};
  const Tensor y = f.output({6, 1}), lse = f.output({2, 1, 3});
  const Tensor qkv = f.values({6, 3}, {1, 2, 10, 1, 3, 20, 1, 4, 30, 1, 5, 40, 1, 6, 50, 1, 6, 60});
  attention(context, shape, {f.ids({0, 1, 2, 0, 0, 1})}, packed(shape, qkv), y, lse);
  CHECK(to_doubles(y)[1] == 20);
  CHECK(to_doubles(lse)[1] == 3);
  CHECK(to_doubles(y)[2] == 30);
  CHECK(to_doubles(y)[4] == Approx((40 + 50 * std::exp(1.0)) / (1 + std::exp(1.0))));
  CHECK(to_doubles(y)[5] == Approx(55));
}

TEST_CASE("keys before a row's first one neither change it nor get a gradient from it") {
  const AttentionShape s{1, 40, 2, 1, 8};
  for (const bool reference : {false, true}) {
    Context context(1, Device::host());
    context.set_reference_only(reference);
    Fixture f(context, DType::f32);
    const Tensor first = f.ids(std::vector<std::int32_t>(40)), dy = f.random({40, 16}, 2);
    first_visible(context, 40, 0, 10, {}, first);
    const Tensor qkv = f.random({40, 32}, 1), y = f.output({40, 16}), lse = f.output({1, 2, 40});
    const Tensor changed = f.output({40, 16}), dqkv = f.output({40, 32});
    attention(context, s, {first}, packed(s, qkv), y, lse);
    std::ranges::fill(dy.rows(0, 35).span<float>(), 0.0f);
    attention_backward(context, s, {first}, dy, packed(s, qkv), y, lse, {packed(s, dqkv)});
    for (const float value : dqkv.rows(0, 26).span<float>()) CHECK(value == 0);
    CHECK(dqkv.rows(26, 27).span<float>().back() != 0);

    for (float& value : qkv.rows(0, 1).span<float>()) value = 1e6f;
    attention(context, s, {first}, packed(s, qkv), changed, lse);
    CHECK_FALSE(same_bits(y.rows(9, 10), changed.rows(9, 10)));
    CHECK(same_bits(y.rows(10, 40), changed.rows(10, 40)));
  }
}

TEST_CASE("no token sees a later one") {
  const AttentionShape s{1, 150, 2, 1, 16};
  const Context context(1, Device::host());
  Fixture f(context, DType::f32);
  const Tensor qkv = f.random({rows(s), packed(s)}, 1), y = f.output({rows(s), query(s)});
  const Tensor lse = f.output({1, 2, s.sequence}), changed = f.output({rows(s), query(s)});
  attention(context, s, {}, packed(s, qkv), y, lse);
  for (float& value : qkv.rows(70, 150).span<float>()) value = 1e6f;
  attention(context, s, {}, packed(s, qkv), changed, lse);
  CHECK(same_bits(y.rows(0, 70), changed.rows(0, 70)));
  CHECK_FALSE(same_bits(y.rows(70, 71), changed.rows(70, 71)));
}

TEST_CASE("a key that is NaN shows in every token that sees it") {
  const AttentionShape s{1, 70, 1, 1, 4};
  for (const bool reference : {false, true}) {
    Context context(1, Device::host());
    context.set_reference_only(reference);
    Fixture f(context, DType::f32);
    const Tensor qkv = f.random({70, 12}, 1), y = f.output({70, 4}), lse = f.output({1, 1, 70});
    qkv.data<float>()[30 * 12 + 4] = NAN;
    attention(context, s, {}, packed(s, qkv), y, lse);
    for (std::int64_t t = 0; t < 70; ++t) CHECK(std::isnan(y.data<float>()[t * 4]) == (t >= 30));
  }
}

/// Results of a call with one head, whose gradients overwrite what was there.
struct Call {
  std::vector<double> y, lse, dq, dk, dv;
};
Call call(Fixture& f, std::int64_t queries, std::int64_t keys, const Visibility& visibility) {
  const AttentionShape s{1, queries, 1, 1, 1};
  const Tensor q = f.random({queries, 1}, 1), k = f.random({keys, 1}, 2), v = f.random({keys, 1}, 3),
               dy = f.random({queries, 1}, 4), y = f.output({queries, 1}),
               lse = f.wide_output({1, 1, queries}), dq = f.output({queries, 1}), dk = f.output({keys, 1}),
               dv = f.output({keys, 1});
  attention(f.context, s, visibility, {{q}, {k}, {v}}, y, lse);
  attention_backward(f.context, s, visibility, dy, {{q}, {k}, {v}}, y, lse, {{{dq}, {dk}, {dv}}});
  return {to_doubles(y), to_doubles(lse), to_doubles(dq), to_doubles(dk), to_doubles(dv)};
}

TEST_CASE("queries before all keys see none: zero, −∞ and no gradient") {
  for (const std::int64_t unseeing : {3, 150, 400}) {
    for_each_arithmetic([&](Fixture& f) {
      const std::int64_t queries = unseeing + 20;
      const Call c = call(f, queries, 30, {{}, 5, 5 + unseeing});
      for (std::int64_t t = 0; t < queries; ++t) {
        const auto i = static_cast<std::size_t>(t);
        INFO("query " << t << " of " << queries);
        CHECK((c.lse[i] == -infinity) == (t < unseeing));
        CHECK((c.y[i] == 0) == (t < unseeing));
        if (t < unseeing) CHECK(c.dq[i] == 0);
      }
      for (std::size_t j = 0; j < 30; ++j) {
        CHECK((c.dv[j] == 0) == (j >= 20));
        if (j >= 20) CHECK(c.dk[j] == 0);
      }
    });
  }
}

TEST_CASE("queries whose first keys lie behind a block see none of it") {
  for (const std::int64_t seeing : {0, 5, 140}) {
    for_each_arithmetic([&](Fixture& f) {
      const std::int64_t queries = seeing + 150;
      std::vector<std::int32_t> first;
      for (std::int64_t t = 0; t < queries; ++t) first.push_back(t < seeing ? 10 : 40);
      const Call c = call(f, queries, 40, {f.ids(first), 200, 0});
      for (std::int64_t t = 0; t < queries; ++t) {
        const auto i = static_cast<std::size_t>(t);
        CHECK((c.lse[i] == -infinity) == (t >= seeing));
        if (t >= seeing) CHECK((c.y[i] == 0 && c.dq[i] == 0));
      }
      for (std::size_t j = 0; j < 40; ++j) CHECK((c.dv[j] == 0) == (seeing == 0 || j < 10));
    });
  }
}

TEST_CASE("queries behind all keys see all of them, and nothing beside") {
  for (const std::int64_t keys : {1, 17, 64, 131, 600}) {
    for_each_arithmetic([&](Fixture& f) {
      const Call c = call(f, 9, keys, {{}, 1000, 0});
      const std::vector<double> q = to_doubles(f.random({9, 1}, 1)), k = to_doubles(f.random({keys, 1}, 2));
      for (std::size_t t = 0; t < 9; ++t) {
        double sum = 0;
        for (const double key : k) sum += std::exp(q[t] * key);
        CHECK(c.lse[t] == Approx(std::log(sum)).epsilon(2e-2));
      }
    });
  }
}

TEST_CASE("what lies beside a block's keys weighs nothing, however low their scores are") {
  // Scores are −400: the zeros that fill a vector would weigh e^400 as much.
  const AttentionShape s{1, 9, 1, 1, 1};
  for_each_arithmetic([&](Fixture& f) {
    const Tensor q = f.values({9, 1}, std::vector<double>(9, 20)),
                 k = f.values({17, 1}, std::vector<double>(17, -20));
    const Tensor v = f.random({17, 1}, 1), dy = f.random({9, 1}, 2), y = f.output({9, 1}),
                 lse = f.wide_output({1, 1, 9});
    const Tensor dq = f.output({9, 1}), dk = f.output({17, 1}), dv = f.output({17, 1});
    attention(f.context, s, {{}, 50, 0}, {{q}, {k}, {v}}, y, lse);
    attention_backward(f.context, s, {{}, 50, 0}, dy, {{q}, {k}, {v}}, y, lse, {{{dq}, {dk}, {dv}}});
    const std::vector<double> values = to_doubles(v);
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / 17;
    for (const double value : to_doubles(y)) CHECK(value == Approx(mean).margin(1e-2));
    for (const double value : to_doubles(lse)) CHECK(value == Approx(std::log(17) - 400));
    for (const Tensor& gradient : {dq, dk, dv}) {
      for (const double value : to_doubles(gradient)) CHECK(std::isfinite(value));
    }
  });
}

}  // namespace
}  // namespace dt::kernels::test
