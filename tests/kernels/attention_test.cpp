#include "kernels/attention.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <iostream>
#include <omp.h>
#include <stdexcept>
#include <utility>

#include "kernels/attention_cases.hpp"
#include "kernels/cuda/attention_by_library.hpp"
#include "kernels/cuda/attention_slices.hpp"
#include "kernels/fixture.hpp"
#include "kernels/linear.hpp"
#include "tensor/accelerator.hpp"

namespace dt::kernels::test {
namespace {

/// Runs forward and backward on random inputs: y, lse, dqkv, which lies over qkv where `over_inputs`.
std::vector<Tensor> both_passes(Fixture& f, const AttentionShape& s, double scale,
                                const FirstKeys& first_keys = all_keys, bool over_inputs = false) {
  const Tensor qkv = f.random({rows(s), packed(s)}, 1, scale), dy = f.random({rows(s), query(s)}, 2);
  const Tensor y = f.output({rows(s), query(s)}), lse = f.wide_output({s.batch, s.query_heads, s.sequence});
  const Tensor dqkv = over_inputs ? qkv : f.output({rows(s), packed(s)}), first = first_keys(f, s);
  attention(f.context, s, {first}, packed(s, qkv), y, lse);
  attention_backward(f.context, s, {first}, dy, packed(s, qkv), y, lse, {packed(s, dqkv)});
  return {y, lse, dqkv};
}

const AttentionShape shapes[] = {
    {1, 1, 1, 1, 1},      // a single token sees itself
    {2, 1, 4, 2, 8},      //
    {1, 7, 3, 3, 5},      // less than a block, an odd head dim
    {2, 64, 2, 2, 64},    // exactly a block
    {1, 65, 4, 1, 64},    // one token more; one key-value head for all
    {3, 130, 6, 2, 33},   // groups of three
    {1, 200, 4, 2, 128},  // a wide head
    {1, 97, 2, 1, 80},    //
};

TEST_CASE("messages advance while attention computes") {
  Context context(1, Device::host());
  Fixture f(context, DType::f32);
  int polls = 0;
  context.set_poll([&] { ++polls; });
  both_passes(f, {1, 1024, 8, 2, 16}, 1);
  CHECK(polls > 10);  // beside the one that each kernel begins with
}

TEST_CASE("what polling throws within a team of threads comes out of the kernel") {
  Context context(2, Device::host());
  Fixture f(context, DType::f32);
  context.set_poll([] {
    if (omp_in_parallel()) throw std::runtime_error("a peer is lost");
  });
  // The first thread polls between jobs of its own, and need not get any.
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

TEST_CASE("a window ends at the row's own key and does not reach behind a start") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f32);
  const Tensor first = f.ids(std::vector<std::int32_t>(10, -9));
  const auto values = [&] {
    const auto span = first.span<std::int32_t>();
    return std::vector<std::int32_t>(span.begin(), span.end());
  };
  first_visible(context, 5, 0, 3, {}, first);
  CHECK(values() == std::vector<std::int32_t>{0, 0, 0, 1, 2, 0, 0, 0, 1, 2});
  first_visible(context, 5, 0, 1, {}, first);
  CHECK(values() == std::vector<std::int32_t>{0, 1, 2, 3, 4, 0, 1, 2, 3, 4});
  first_visible(context, 5, 0, 3, f.ids({0, 1, 1, 1, 4, 0, 0, 0, 3, 3}), first);
  CHECK(values() == std::vector<std::int32_t>{0, 1, 1, 1, 4, 0, 0, 0, 3, 3});
}

TEST_CASE("GPUs find the first visible keys that the reference finds", "[device]") {
  struct Window {
    std::int64_t sequences, sequence, position, window;
  };
  const auto found = [](Fixture& f, const Window& w, bool has_starts) {
    const std::int64_t rows = w.sequences * w.sequence;
    const Tensor starts =
        has_starts ? f.random_ids(rows, 0, static_cast<std::int32_t>(w.position + w.sequence), 3) : Tensor();
    const Tensor first = f.random_ids(rows, -9, -1, 4);
    first_visible(f.context, w.sequence, w.position, w.window, starts, first);
    const auto values = f.on_host(first).span<std::int32_t>();
    return std::vector<std::int32_t>(values.begin(), values.end());
  };
  for (const Window& w :
       {Window{1, 1, 0, 1}, Window{1, 1, 5, 2}, Window{2, 7, 0, 3}, Window{3, 5, 9, 4}, Window{1, 33, 0, 32},
        Window{4, 64, 64, 64}, Window{1, 255, 0, 7}, Window{1, 256, 3, 100}, Window{1, 257, 0, 1},
        Window{5, 77, 1000, 900}, Window{2, 1000, 0, 2000}, Window{1, 2049, 7, 512}}) {
    for (const bool has_starts : {false, true}) {
      CAPTURE(w.sequences, w.sequence, w.position, w.window, has_starts);
      const Context context(1, Device::host());
      Fixture host(context, DType::f32);
      const std::vector<std::int32_t> expected = found(host, w, has_starts);
      for (const std::uint64_t seed : {1, 2})
        on_test_device(DType::f32, seed, [&](Fixture& f) { CHECK(found(f, w, has_starts) == expected); });
    }
  }
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

TEST_CASE("attention_backward is attention's gradient") {
  const std::pair<AttentionShape, FirstKeys> cases[] = {{{2, 5, 2, 2, 3}, all_keys},
                                                        {{1, 4, 4, 2, 2}, all_keys},
                                                        {{2, 6, 2, 1, 3}, window(3)},
                                                        {{2, 7, 2, 1, 2}, documents(3)}};
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

TEST_CASE("a GPU's library attends where there is one", "[device]") {
  on_test_device(DType::bf16, 1, [](Fixture& f) {
    if (attention_library().name.empty()) return;
    const AttentionShape s{2, 64, 4, 2, 64};
    const Tensor qkv = f.random({rows(s), packed(s)}, 1), dy = f.random({rows(s), query(s)}, 2);
    const Tensor y = f.output({rows(s), query(s)}), lse = f.wide_output({s.batch, s.query_heads, s.sequence});
    for (const Tensor& first : {Tensor(), window(9)(f, s)}) {
      CHECK(cuda::attention_by_library(f.context, s, {first}, packed(s, qkv), y, lse));
      CHECK(cuda::attention_backward_by_library(f.context, s, {first}, dy, packed(s, qkv), y, lse,
                                                {packed(s, qkv)}));
    }
  });
}

TEST_CASE("heads of a GPU's library that wait for each other have the bits of all at once", "[device]") {
  const bool over_inputs = GENERATE(false, true);
  const auto on_device = [&](const AttentionShape& s, const FirstKeys& first, DType dtype) {
    std::vector<std::vector<double>> results;
    on_test_device(dtype, 1, [&](Fixture& f) {
      for (const Tensor& result : both_passes(f, s, 1, first, over_inputs))
        results.push_back(to_doubles(f.on_host(result)));
    });
    return results;
  };
  for (const AttentionShape& s : {AttentionShape{4, 9, 6, 3, 8}, AttentionShape{1, 17, 4, 4, 16}})
    for (const FirstKeys& first : {FirstKeys(all_keys), documents(3)})
      for (const DType dtype : {DType::bf16, DType::f16}) {
        const auto at_once = on_device(s, first, dtype);
        for (const std::int64_t most_bytes : {1, 700, 2000}) {
          CAPTURE(s.batch, s.sequence, s.query_heads, most_bytes);
          const std::int64_t before = std::exchange(cuda::most_bytes_at_a_time, most_bytes);
          CHECK(on_device(s, first, dtype) == at_once);
          cuda::most_bytes_at_a_time = before;
        }
      }
}

TEST_CASE("a backward pass whose weights do not fit has the same bits again, in the memory of its estimate",
          "[.ordered]") {
  const AttentionShape s{1, 16384, 4, 1, 64};
  const auto gradients = [&](Kernels kernels, std::uint64_t seed) {
    std::vector<double> result;
    on_test_device(
        DType::bf16, seed,
        [&](Fixture& f) {
          const Tensor qkv = f.random({rows(s), packed(s)}, 1), dy = f.random({rows(s), query(s)}, 2);
          const Tensor y = f.output({rows(s), query(s)}), lse = f.wide_output({1, 4, s.sequence}),
                       dqkv = f.output({rows(s), packed(s)});
          attention(f.context, s, {}, packed(s, qkv), y, lse);
          attention_backward(f.context, s, {}, dy, packed(s, qkv), y, lse, {packed(s, dqkv)});
          result = to_doubles(f.on_host(dqkv));
          const AttentionLibrary library = attention_library();
          if (kernels == Kernels::own || library.name.empty()) return;
          const bool can_order = library.ordered_major == accelerator().gpus().at(0).major;
          CHECK(f.context.scratch().peak_bytes() <=
                cuda::attention_scratch_bytes(s, {DType::bf16, true, false, can_order}) +
                    (std::size_t{1} << 20));
          std::cout << library.name << (can_order ? ": ordered, " : ": kept weights, ")
                    << f.context.scratch().peak_bytes() << " bytes of scratch memory\n";
        },
        kernels);
    return result;
  };
  const std::vector<double> own = gradients(Kernels::own, 1), first = gradients(Kernels::any, 1);
  CHECK(gradients(Kernels::any, 2) == first);
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    difference += (first[i] - own[i]) * (first[i] - own[i]);
    norm += own[i] * own[i];
  }
  CHECK(std::sqrt(difference / norm) < in_parts.bf16);
}

TEST_CASE("fast attention agrees with its reference", "[device]") {
  for (const AttentionShape& s : shapes) {
    INFO("batch " << s.batch << " sequence " << s.sequence << " heads " << s.query_heads << "/"
                  << s.key_value_heads << " head dim " << s.head_dim);
    check_fast_kernel([&](Fixture& f) { return both_passes(f, s, 1); });
    check_fast_half_kernel([&](Fixture& f) { return both_passes(f, s, 1); });
    if (is_small(s)) check_gpu_attention([&](Fixture& f) { return both_passes(f, s, 1); });
  }
}

TEST_CASE("fast attention agrees with its reference over several blocks of a long sequence") {
  const AttentionShape shape{1, 1300, 2, 1, 64};
  check_fast_kernel([&](Fixture& f) { return both_passes(f, shape, 1); });
  check_fast_half_kernel([&](Fixture& f) { return both_passes(f, shape, 1); });
}

TEST_CASE("fast attention agrees with its reference where a window or documents hide keys", "[device]") {
  const std::pair<AttentionShape, FirstKeys> cases[] = {
      {{2, 70, 2, 1, 8}, window(1)},         // each token sees itself
      {{1, 300, 2, 1, 33}, window(17)},      //
      {{1, 520, 2, 2, 64}, window(128)},     // whole blocks
      {{1, 1300, 2, 1, 16}, window(300)},    // blocks that are skipped
      {{3, 130, 6, 2, 20}, documents(5)},    // several in a block
      {{2, 700, 4, 2, 64}, documents(100)},  //
      {{1, 1300, 2, 1, 32}, documents(400)},
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
  for (const AttentionShape& s : {AttentionShape{1, 7, 3, 3, 5}, {2, 35, 4, 2, 9}})
    for (const FirstKeys& first : {FirstKeys(all_keys), documents(5)})
      check_gpu_attention([&](Fixture& f) { return both_passes(f, s, 1, first, s.batch > 1); });
}

TEST_CASE("attention_backward over queries, keys and values gives the same bits", "[device]") {
  const std::pair<AttentionShape, FirstKeys> cases[] = {
      {{1, 130, 6, 2, 33}, all_keys},
      {{1, 520, 2, 1, 64}, all_keys},     // several chunks of keys add to a query
      {{1, 300, 1, 1, 16}, window(140)},  // of which the first do not see it
      {{5, 60, 2, 1, 8}, documents(20)},  // several batch entries after each other
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
  // Scores up to ±900: one key takes all. fp32 rounds them to 1e-4, so the comparison is a loose one.
  const AttentionShape shape{1, 100, 2, 2, 8};
  check_fast_kernel([&](Fixture& f) { return both_passes(f, shape, 30); }, Threads::any, 1e-3);
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

TEST_CASE("rotary tables hold the angles of Su et al.") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(context, dtype);
    const Tensor cosine = f.output({3, 2}), sine = f.output({3, 2});
    rotary_tables({100, {}}, cosine, sine);  // frequencies 1 and 1/10
    CHECK(to_doubles(cosine)[0] == 1);
    CHECK(to_doubles(sine)[1] == 0);
    CHECK(to_doubles(cosine)[4] == Approx(std::cos(2.0)));
    CHECK(to_doubles(sine)[5] == Approx(std::sin(0.2)));
  }
}

TEST_CASE("scaled rotary frequencies: linear divides all, llama3 the low ones, with a slope between") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f64);
  // Unscaled the frequencies are 1, 1/10, 1/100, 1/1000: over 200 positions 31.8, 3.18, 0.318, 0.0318 turns.
  const auto angles = [&](const RotaryScaling& scaling) {
    const Tensor cosine = f.output({2, 4}), sine = f.output({2, 4});
    rotary_tables({10000, scaling}, cosine, sine);
    const std::vector<double> all = to_doubles(sine);
    std::vector<double> of_first_position;
    for (std::size_t i = 4; i < 8; ++i) of_first_position.push_back(std::asin(all[i]));
    return of_first_position;
  };
  const std::vector<double> linear = angles({RotaryScaling::Type::linear, 8});
  for (std::size_t i = 0; i < 4; ++i) CHECK(linear[i] == Approx(std::pow(10, -static_cast<double>(i)) / 8));
  const std::vector<double> llama3 = angles({RotaryScaling::Type::llama3, 8, 1, 4, 200});
  const double kept = (20 / (2 * std::acos(-1.0)) - 1) / 3;
  CHECK(llama3[0] == Approx(1));
  CHECK(llama3[1] == Approx(0.1 * (kept + (1 - kept) / 8)));
  CHECK(llama3[2] == Approx(0.01 / 8));
  CHECK(llama3[3] == Approx(0.001 / 8));
}

TEST_CASE("rotary turns pairs of features of queries and keys, not of values, by their position") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(context, dtype);
    const AttentionShape shape{1, 2, 1, 1, 4};
    const Tensor cosine = f.values({2, 2}, {1, 1, 0, -1}), sine = f.values({2, 2}, {0, 0, 1, 0});
    const Tensor qkv =
        f.values({2, 12}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    rotary(context, shape, f.ids({0, 1}), cosine, sine, false, qkv);
    CHECK(to_doubles(qkv) == std::vector<double>{1,  2,  3, 4,  5,  6,  7, 8,  9, 10, 11, 12,  //
                                                 -3, -2, 1, -4, -7, -6, 5, -8, 9, 10, 11, 12});
  }
}

TEST_CASE("rotary's inverse undoes it") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f64);
  const AttentionShape shape{1, 3, 2, 1, 6};
  const Tensor cosine = f.output({9, 3}), sine = f.output({9, 3});
  rotary_tables({}, cosine, sine);
  const Tensor qkv = f.random({3, 24}, 1), before = f.random({3, 24}, 1), positions = f.ids({8, 0, 5});
  rotary(context, shape, positions, cosine, sine, false, qkv);
  CHECK(relative_error(qkv, before) > 0.1);
  rotary(context, shape, positions, cosine, sine, true, qkv);
  CHECK(relative_error(qkv, before) < 1e-14);
}

TEST_CASE("fast rotary agrees with its reference", "[device]") {
  for (const AttentionShape& s :
       {AttentionShape{1, 5, 1, 1, 2}, AttentionShape{2, 33, 3, 1, 10}, AttentionShape{1, 70, 4, 2, 64}}) {
    for (const bool inverse : {false, true}) {
      const Case run = [&](Fixture& f) -> std::vector<Tensor> {
        const Context host(1, Device::host());
        Fixture tables(host, f.wide_dtype());
        const Tensor cosine = tables.output({s.sequence, s.head_dim / 2}),
                     sine = tables.output({s.sequence, s.head_dim / 2});
        rotary_tables({}, cosine, sine);
        const Tensor qkv = f.random({rows(s), packed(s)}, 1);
        const Tensor positions = f.random_ids(rows(s), 0, static_cast<std::int32_t>(s.sequence), 2);
        rotary(f.context, s, positions, f.placed(cosine), f.placed(sine), inverse, qkv);
        return {qkv};
      };
      check_fast_kernel(run);
      check_fast_half_kernel(run);
      check_gpu_kernel(run);
      check_gpu_places(run);
    }
  }
}

TEST_CASE("attention and rotary refuse shapes that do not fit") {
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
  check_refused("attention_backward", [&] {
    attention_backward(context, shape, {}, y, packed(shape, qkv), y, lse, {packed(shape, wrong)});
  });
  const Tensor table = f.output({4, 2});
  check_refused("rotary", [&] { rotary(context, shape, f.ids({0, 4}), table, table, false, qkv); });
  check_refused("rotary", [&] { rotary(context, shape, f.ids({0}), table, table, false, qkv); });
  check_refused("rotary", [&] { rotary(context, shape, f.ids({0, 1}), table, wrong, false, qkv); });
  check_refused("rotary_tables", [&] { rotary_tables({}, table, wrong); });
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

}  // namespace
TEST_CASE("attention in tiles has the bits of the loops that stand in for them") {
  if (!multiplies_in(Arithmetic::amx)) return;
  const AttentionShape shapes[] = {
      {1, 1, 1, 1, 8}, {2, 75, 4, 2, 24}, {1, 300, 2, 1, 64}, {1, 161, 1, 1, 80}};
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

}  // namespace dt::kernels::test
