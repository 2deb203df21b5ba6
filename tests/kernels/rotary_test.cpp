// Tests rotary position embeddings.
#include <catch2/catch.hpp>
#include <cmath>

#include "kernels/attention_cases.hpp"

namespace dt::kernels::test {
namespace {

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
  // Without scaling the frequencies are 1, 1/10, 1/100, 1/1000: over 200 positions 31.8, 3.18,
  // 0.318, 0.0318 turns.
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

TEST_CASE("rotary refuses shapes that do not fit") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f32);
  const AttentionShape shape{1, 2, 2, 1, 4};
  const Tensor qkv = f.random({2, 16}, 1), wrong = f.output({2, 7});
  const Tensor table = f.output({4, 2});
  check_refused("rotary", [&] { rotary(context, shape, f.ids({0, 4}), table, table, false, qkv); });
  check_refused("rotary", [&] { rotary(context, shape, f.ids({0}), table, table, false, qkv); });
  check_refused("rotary", [&] { rotary(context, shape, f.ids({0, 1}), table, wrong, false, qkv); });
  check_refused("rotary_tables", [&] { rotary_tables({}, table, wrong); });
}

}  // namespace
}  // namespace dt::kernels::test
