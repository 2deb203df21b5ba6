// Tests rotary position embeddings.
#include "kernels/rotary.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "kernels/attention_cases.hpp"

namespace dt::kernels::test {
namespace {

TEST_CASE("rotary turns pairs of features of queries and keys, not of values, by their position") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(context, dtype);
    const AttentionShape shape{1, 2, 1, 1, 4};
    Rotation rotation{f.values({2, 2}, {1, 1, 0, -1}), f.values({2, 2}, {0, 0, 1, 0})};
    const auto turned = [&] {
      const Tensor qkv =
          f.values({2, 12}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
      rotary(context, shape, f.ids({0, 1}), rotation, false, qkv);
      return to_doubles(qkv);
    };
    CHECK(turned() == std::vector<double>{1,  2,  3, 4,  5,  6,  7, 8,  9, 10, 11, 12,  //
                                          -3, -2, 1, -4, -7, -6, 5, -8, 9, 10, 11, 12});
    rotation.is_interleaved = true;
    CHECK(turned() == std::vector<double>{1,  2, 3,  4,  5,  6, 7,  8,  9, 10, 11, 12,  //
                                          -2, 1, -3, -4, -6, 5, -7, -8, 9, 10, 11, 12});
    // One pair rotates. Queries have a factor, which features beyond the pair have, too.
    rotation = {f.values({2, 1}, {1, 0}), f.values({2, 1}, {0, 1}), f.values({2}, {1, 2}), true};
    CHECK(turned() == std::vector<double>{1,  2, 3, 4, 5,  6, 7, 8, 9, 10, 11, 12,  //
                                          -4, 2, 6, 8, -6, 5, 7, 8, 9, 10, 11, 12});
    rotation.is_interleaved = false;
    CHECK(turned() == std::vector<double>{1,  2, 3, 4, 5,  6, 7, 8, 9, 10, 11, 12,  //
                                          -4, 2, 6, 8, -6, 5, 7, 8, 9, 10, 11, 12});
  }
}

/// A way to rotate, and the heads.
struct Form {
  AttentionShape shape;
  double partial_factor = 1;
  bool is_interleaved = false;
  double query_scale = 0;
};

/// Returns tables of all positions of a sequence, whose cosines and sines have a factor other than 1 if
/// queries have. `tables` has them on the host.
Rotation rotation(Fixture& f, Fixture& tables, const Form& form) {
  RotaryFrequencies frequencies{.partial_factor = form.partial_factor, .query_scale = form.query_scale};
  if (form.query_scale != 0)
    frequencies.scaling = {
        .type = RotaryScaling::Type::yarn, .factor = 4, .original_positions = 3, .attention_factor = 1.25};
  const std::int64_t P = form.shape.sequence, F = num_rotary_frequencies(frequencies, form.shape.head_dim);
  const Tensor cosine = tables.output({P, F}), sine = tables.output({P, F}), factor = tables.output({P});
  rotary_tables(frequencies, form.shape.head_dim, P, cosine, sine);
  if (form.query_scale != 0) query_factors(frequencies, factor);
  return {f.placed(cosine), f.placed(sine), form.query_scale == 0 ? Tensor() : f.placed(factor),
          form.is_interleaved};
}

TEST_CASE("rotary's inverse undoes it, and with factors is its transpose") {
  const Context context(1, Device::host());
  const AttentionShape shape{1, 7, 2, 1, 6};
  for (const Form& form : {Form{shape}, Form{shape, 1, true}, Form{shape, 0.7}, Form{shape, 0.7, true},
                           Form{shape, 1, false, 0.3}, Form{shape, 0.7, true, 0.3}}) {
    Fixture f(context, DType::f64);
    const Rotation turns = rotation(f, f, form);
    const Tensor positions = f.ids({6, 0, 5, 3, 4, 2, 6});
    const Tensor qkv = f.random({7, 24}, 1), dy = f.random({7, 24}, 2);
    const auto loss = [&] {
      const Tensor y = f.output({7, 24});
      copy(context, qkv, y);
      rotary(context, shape, positions, turns, false, y);
      return weighted_sum(y, dy);
    };
    const Tensor dqkv = f.output({7, 24});
    copy(context, dy, dqkv);
    rotary(context, shape, positions, turns, true, dqkv);
    check_gradient(loss, qkv, dqkv);
    if (form.query_scale != 0) continue;
    rotary(context, shape, positions, turns, false, dqkv);
    CHECK(relative_error(dqkv, dy) < 1e-14);
  }
}

TEST_CASE("fast rotary agrees with its reference", "[device]") {
  for (const Form& form :
       {Form{{1, 5, 1, 1, 2}}, Form{{2, 33, 3, 1, 10}}, Form{{1, 70, 4, 2, 64}},
        Form{{1, 5, 1, 1, 2}, 1, true}, Form{{2, 33, 3, 1, 10}, 1, true}, Form{{1, 70, 4, 2, 64}, 1, true},
        Form{{2, 33, 3, 1, 12}, 0.25}, Form{{1, 9, 2, 1, 80}, 0.4, true},
        Form{{1, 9, 2, 1, 24}, 1, false, 0.1}, Form{{2, 9, 3, 3, 25}, 0.5, true, 0.1},
        Form{{1, 9, 4, 2, 64}, 0.75, false, 0.1}}) {
    for (const bool inverse : {false, true}) {
      const Case run = [&](Fixture& f) -> std::vector<Tensor> {
        const AttentionShape& s = form.shape;
        const Tensor qkv = f.random({rows(s), packed(s)}, 1);
        const Tensor positions = f.random_ids(rows(s), 0, static_cast<std::int32_t>(s.sequence), 2);
        const Context host(1, Device::host());
        Fixture tables(host, f.wide_dtype());
        rotary(f.context, s, positions, rotation(f, tables, form), inverse, qkv);
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
  const Tensor qkv = f.random({2, 16}, 1), wrong = f.output({2, 7}), wide = f.output({4, 3});
  const Tensor table = f.output({4, 2});
  check_refused("rotary", [&] { rotary(context, shape, f.ids({0, 4}), {table, table}, false, qkv); });
  check_refused("rotary", [&] { rotary(context, shape, f.ids({0}), {table, table}, false, qkv); });
  check_refused("rotary", [&] { rotary(context, shape, f.ids({0, 1}), {table, wrong}, false, qkv); });
  check_refused("rotary", [&] { rotary(context, shape, f.ids({0, 1}), {wide, wide}, false, qkv); });
  check_refused("rotary", [&] { rotary(context, shape, f.ids({0, 1}), {table, table, wrong}, false, qkv); });
}

}  // namespace
}  // namespace dt::kernels::test
