#include "kernels/stochastic_rounding.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "kernels/elementwise.hpp"
#include "kernels/fixture.hpp"
#include "kernels/optimizer_step.hpp"

namespace dt::kernels::test {
namespace {

constexpr PhiloxKey key = {1, 2};

/// Powers of two and gradients of few bits, for which fp32 is as exact as the fp64 of the reference.
OptimizerStep exact_step(const ElementIndices& elements, std::int64_t step = 3) {
  return {.settings = {.beta1 = 0.5, .beta2 = 0.75},
          .lr = 1e-3,
          .step = step,
          .grad_scale = 0.5,
          .rounding_key = key,
          .elements = elements};
}

std::vector<double> multiples(std::int64_t count, double unit) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i * 37 % 501 - 250) * unit);
  return values;
}

/// Makes a step with bf16 moments of the elements from `from` on, and returns the moments.
std::vector<Tensor> moments_of_step(Fixture& f, const ElementIndices& elements, std::int64_t count,
                                    std::int64_t from = 0) {
  const auto part = [&](const std::vector<double>& all) {
    return std::vector<double>(all.begin() + from, all.begin() + from + count);
  };
  const std::int64_t total = from + count;
  std::vector<double> squares = multiples(total, 0.5);
  for (double& square : squares) square = std::abs(square);
  const auto narrow = [&](const std::vector<double>& values) {
    Tensor target = f.random_in(DType::bf16, {count}, 0);
    cast(f.context, f.values({count}, part(values)), target);
    return target;
  };
  const Tensor w = f.values({count}, part(multiples(total, 0.125)));
  const Tensor m = narrow(multiples(total, 0.25)), v = narrow(squares);
  ElementIndices own = elements;
  own.begin += from;
  optimizer_step(f.context, exact_step(own), w, f.values({count}, part(multiples(total, 0.0625))),
                 std::array{m, v}, Tensor());
  return {m, v};
}

TEST_CASE("rounding at random keeps the mean, what bf16 has, and NaN") {
  for (const float value : {1.0F + 0x1p-9F, -3.1F, 1e-39F, 0.1F, 65000.0F}) {
    double sum = 0;
    for (std::uint32_t random = 0; random < 65536; ++random)
      sum += double{bf16_to_f32(round_stochastically(value, 0xabcd0000 | random))};
    CHECK(sum / 65536 == double{value});
  }
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float value : {1.5F, -0.0F, 0x1p-133F, infinity, -infinity})
    CHECK(round_stochastically(value, 0xffff) == f32_to_bf16(value));
  CHECK(std::isnan(bf16_to_f32(round_stochastically(std::bit_cast<float>(0x7fffffff), 0xffff))));
}

TEST_CASE("elements of a piece have the indices of the whole tensor, however it is cut") {
  const Shape shape{6, 4, 10};
  for (const Piece& piece :
       {Piece::whole(shape), Piece{shape, {0, 0, 0}, shape, 17, 90},
        Piece{shape, {2, 0, 0}, {3, 4, 10}, 5, 120}, Piece{shape, {0, 1, 0}, {6, 2, 10}, 3, 101},
        Piece{shape, {1, 0, 4}, {4, 4, 3}, 1, 48}, Piece{shape, {5, 3, 2}, {1, 1, 4}, 1, 3}}) {
    const ElementIndices indices = element_indices(7, piece);
    CHECK(indices.parameter == 7);
    for (const CopyRange& range : intersect(piece, Piece::whole(shape))) {
      for (std::int64_t i = 0; i < range.count; ++i)
        REQUIRE(indices.index(range.source + i) == range.target + i);
    }
  }
  CHECK_THROWS(element_indices(0, Piece{shape, {0, 1, 2}, {6, 2, 4}, 0, 48}));
}

TEST_CASE(
    "moments in bf16 have the bits of the reference, with every instruction set, and are made of the step") {
  const ElementIndices cut{
      .parameter = 5, .first = (std::int64_t{1} << 34) - 6, .begin = 3, .row = 29, .stride = 61};
  for (const ElementIndices& elements : {ElementIndices{.parameter = 5}, cut}) {
    for (const std::int64_t count : {1, 15, 64, 2500}) {
      Context reference(1, Device::host());
      reference.set_reference_only(true);
      Fixture expected(reference, DType::f32);
      const std::vector<Tensor> moments = moments_of_step(expected, elements, count);
      for_each_instruction_set([&] {
        for (const int threads : {1, 2}) {
          const Context context(threads, Device::host());
          Fixture f(context, DType::f32, 3);
          const std::vector<Tensor> own = moments_of_step(f, elements, count);
          CHECK(same_bits(own[0], moments[0]));
          CHECK(same_bits(own[1], moments[1]));
        }
      });
    }
  }
}

TEST_CASE("an element's moments do not depend on the place of the range in which it is updated") {
  const Context context(1, Device::host());
  const ElementIndices elements{.parameter = 2, .first = 3, .begin = 1, .row = 50, .stride = 70};
  Fixture f(context, DType::f32);
  const std::vector<Tensor> all = moments_of_step(f, elements, 400),
                            part = moments_of_step(f, elements, 290, 110);
  for (std::size_t k = 0; k < 2; ++k) CHECK(same_bits(all[k].flat(110, 290), part[k]));
}

TEST_CASE("the random bits differ by step, parameter, element and moment") {
  const RoundingBits bits{key, 3, {.parameter = 2}};
  const auto word = [](const RoundingBits& of, std::int64_t index) {
    return philox(of.counter(index / 4), of.key)[static_cast<std::size_t>(index % 4)];
  };
  RoundingBits other_step = bits, other_parameter = bits;
  other_step.step = 4;
  other_parameter.elements.parameter = 3;
  int same_step = 0, same_parameter = 0, same_next = 0, same_half = 0;
  for (std::int64_t i = 0; i < 1000; ++i) {
    same_step += word(bits, i) == word(other_step, i) ? 1 : 0;
    same_parameter += word(bits, i) == word(other_parameter, i) ? 1 : 0;
    same_next += word(bits, i) == word(bits, i + 1) ? 1 : 0;
    same_half += (word(bits, i) & 0xffff) == word(bits, i) >> 16 ? 1 : 0;
  }
  CHECK((same_step == 0 && same_parameter == 0 && same_next == 0 && same_half < 3));
}

TEST_CASE("updates with moments in bf16 agree with the reference and on GPUs", "[device]") {
  const std::optional<DType> no_copy;
  for (const std::int64_t count : {1, 37, 2051}) {
    for (const auto& [gradient, copied] : {std::pair{DType::f32, no_copy},
                                           {DType::f32, DType::bf16},
                                           {DType::f32, DType::f16},
                                           {DType::bf16, no_copy},
                                           {DType::bf16, DType::bf16},
                                           {DType::bf16, DType::f16}}) {
      const Case run = [=](Fixture& f) -> std::vector<Tensor> {
        const Tensor w = f.random({count}, 1), m = f.random_in(DType::bf16, {count}, 2),
                     v = f.random_in(DType::bf16, {count}, 3, 0);
        const Tensor copy = copied ? f.random_in(*copied, {count}, 4) : Tensor();
        OptimizerStep step = exact_step({.parameter = 1, .first = 5, .begin = 2, .row = 31, .stride = 33}, 1);
        for (; step.step <= 3; ++step.step)
          optimizer_step(f.context, step, w, f.random_in(gradient, {count}, 5), std::array{m, v}, copy);
        return {w, copy ? copy : w, m, v};
      };
      check_gpu_as_cpu(DType::f32, run, 4e-3);
    }
  }
}

TEST_CASE("moments in bf16 are AdamW's alone, beside weights in fp32") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f32), wide(context, DType::f64);
  const Tensor narrow = f.random_in(DType::bf16, {3}, 1), w = f.random({3}, 1), w_f64 = wide.random({3}, 1);
  OptimizerStep step = exact_step({});
  check_refused("adamw", [&] {
    optimizer_step(context, step, w_f64, w_f64, std::array{narrow, narrow}, {});
  });
  check_refused("adamw", [&] { optimizer_step(context, step, w, w, std::array{narrow, w}, {}); });
  step.settings.kind = OptimizerKind::lion;
  check_refused("lion", [&] { optimizer_step(context, step, w, w, std::array{narrow}, {}); });
}

}  // namespace
}  // namespace dt::kernels::test
