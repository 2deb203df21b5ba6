#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/gemm_cases.hpp"

namespace dt::kernels::cpu {
namespace {

using namespace gemm_test;
using test::for_each_instruction_set;

std::vector<std::byte> run(const Case& c) {
  const Context context(c.threads, Device::host());
  const Operands o(c);
  multiply(context, c, o);
  const std::size_t capacity = context.scratch().capacity_bytes();
  const Operands again(c);
  multiply(context, c, again);
  CHECK(context.scratch().capacity_bytes() <= capacity);
  CHECK(o.c.bytes() == again.c.bytes());
  return o.c.bytes();
}

TEST_CASE("a matrix product's bits do not depend on threads or on where its matrices lie", "[slow]") {
  for_each_instruction_set([] {
    for (const auto& [M, N, K] : {Sizes{65, 130, 385}, Sizes{200, 800, 50}, Sizes{13, 20, 3500}}) {
      for (int options = 0; options < 4; ++options) {
        Case shape{M, N, K};
        shape.a_transposed = options & 1;
        shape.b_transposed = options & 2;
        for_each_format(shape, [](const Case& c) {
          const std::vector<std::byte> expected = run(c);
          for (const int threads : {2, 3}) {
            Case other = c;
            other.threads = threads;
            CHECK(run(other) == expected);
          }
          for (const std::int64_t misaligned : {1, 3, 7, 15}) {
            Case other = c;
            other.misaligned = misaligned;
            CHECK(run(other) == expected);
          }
        });
      }
    }
  });
}

TEST_CASE("a row or a column of a matrix product has the bits that it has alone") {
  for_each_instruction_set([] {
    for (int options = 0; options < 4; ++options) {
      Case shape{201, 75, 801};
      shape.a_transposed = options & 1;
      shape.b_transposed = options & 2;
      for_each_format(shape, [](const Case& c) {
        const Context context(2, Device::host());
        const Operands o(c);
        multiply(context, c, o);
        const auto bytes = static_cast<std::int64_t>(dtype_bytes(c.output));
        const auto part = [&](std::int64_t i, std::int64_t j, std::int64_t M, std::int64_t N) {
          const auto in = static_cast<std::int64_t>(dtype_bytes(c.operands));
          Values out(c.output, M * N);
          Product p{};
          p.M = M;
          p.N = N;
          p.K = c.K;
          p.operands = c.operands;
          p.a = {o.a.data() + (c.a_transposed ? i : i * o.a_stride) * in, o.a_stride, c.a_transposed};
          p.b = {o.b.data() + (c.b_transposed ? j * o.b_stride : j) * in, o.b_stride, c.b_transposed};
          p.output = c.output;
          p.c = out.data();
          p.c_stride = N;
          p.arithmetic = c.arithmetic;
          cpu::multiply(context, p);
          bool same = true;
          for (std::int64_t r = 0; r < M; ++r) {
            same &= std::memcmp(out.data() + r * N * bytes, o.c.data() + ((i + r) * o.c_stride + j) * bytes,
                                static_cast<std::size_t>(N * bytes)) == 0;
          }
          return same;
        };
        CHECK(part(0, 0, 1, c.N));
        CHECK(part(200, 0, 1, c.N));
        CHECK(part(97, 0, 50, c.N));
        CHECK(part(0, 74, c.M, 1));
        CHECK(part(0, 33, c.M, 7));
        CHECK(part(5, 17, 3, 5));
      });
    }
  });
}

TEST_CASE("operands and results of a matrix product are rounded and widened exactly") {
  for_each_instruction_set([] {
    for (const DType half : {DType::bf16, DType::f16}) {
      INFO(dtype_name(half));
      const Context context(1, Device::host());
      // Every half value times one goes to fp32 and back.
      constexpr std::int64_t count = 65536;
      Values halves(half, count), one(half, 1), wide(DType::f32, count), back(half, count),
          unit(DType::f32, 1);
      for (std::int64_t i = 0; i < count; ++i) {
        const auto bits = static_cast<std::uint16_t>(i);
        std::memcpy(halves.data() + 2 * i, &bits, 2);
      }
      one.set(0, 1);
      unit.set(0, 1);
      Product p{count, 1, 1, half, {halves.data(), 1}, {one.data(), 1}, DType::f32, wide.data(), 1};
      cpu::multiply(context, p);
      p = {count, 1, 1, DType::f32, {wide.data(), 1}, {unit.data(), 1}, half, back.data(), 1};
      cpu::multiply(context, p);
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        const bool is_nan = std::isnan(halves[i]);
        wrong += is_nan ? !std::isnan(wide[i]) || !std::isnan(back[i])
                        : wide[i] != halves[i] || back[i] != halves[i];
      }
      CHECK(wrong == 0);
      // These values lie between halves, from the smallest subnormal to beyond the largest.
      Values between(DType::f32, count);
      for (std::int64_t i = 0; i < count; ++i) {
        const auto bits = static_cast<std::uint32_t>(i * 65537 + (i % 3 == 0 ? 0x8000 - i % 2 : i % 7));
        std::memcpy(between.data() + 4 * i, &bits, 4);
      }
      p.a = {between.data(), 1};
      cpu::multiply(context, p);
      wrong = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        Values expected(half, 1);
        expected.set(0, between[i]);
        wrong += std::isnan(between[i]) ? !std::isnan(back[i]) : back[i] != expected[0];
      }
      CHECK(wrong == 0);
    }
  });
}

}  // namespace
}  // namespace dt::kernels::cpu
