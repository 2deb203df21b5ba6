#include "kernels/cpu/gemm/tile_amx.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/arithmetic.hpp"
#include "kernels/cpu/gemm/gemm.hpp"
#include "kernels/fixture.hpp"
#include "tensor/buffer.hpp"

namespace dt::kernels::cpu {
namespace {

constexpr std::int64_t columns = 2 * amx_columns;

float of_half(std::uint32_t half) {
  return std::bit_cast<float>(half << 16);
}
float without_subnormals(float x) {
  return std::abs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}

/// Panels of A and B with units of `make(i)`, and a C to start from.
struct Panels {
  template <class Make>
  Panels(std::int64_t units, const Make& make)
      : units(units),
        a(static_cast<std::size_t>(2 * amx_rows * units)),
        b(a.size()),
        c(2 * amx_rows * columns) {
    std::uint32_t i = 0;
    for (float& unit : a) unit = std::bit_cast<float>(make(i++));
    for (float& unit : b) unit = std::bit_cast<float>(make(i++));
    for (float& sum : c) sum = 1.0f / static_cast<float>(1 + i++ % 97);
  }

  std::uint32_t unit_of_a(std::int64_t i, std::int64_t k) const {
    return std::bit_cast<std::uint32_t>(
        a[static_cast<std::size_t>(i / 16 * 16 * units + k / 16 * 256 + i % 16 * 16 + k % 16)]);
  }
  std::uint32_t unit_of_b(std::int64_t k, std::int64_t j) const {
    return std::bit_cast<std::uint32_t>(b[static_cast<std::size_t>(j / 16 * 16 * units + k * 16 + j % 16)]);
  }

  std::int64_t units;
  std::vector<float> a, b, c;
};

/// Computes an element as Intel's description of the instruction defines it.
float described(const Panels& p, std::int64_t i, std::int64_t j, float start) {
  float sum = start;
  for (std::int64_t block = 0; block < p.units; block += amx_units) {
    float low = 0, high = 0;
    for (std::int64_t k = block; k < block + amx_units; ++k) {
      const std::uint32_t x = p.unit_of_a(i, k), y = p.unit_of_b(k, j);
      const auto half = [](std::uint32_t bits) { return without_subnormals(of_half(bits)); };
      low = without_subnormals(std::fma(half(x & 0xffff), half(y & 0xffff), low));
      high = without_subnormals(std::fma(half(x >> 16), half(y >> 16), high));
    }
    sum = without_subnormals(without_subnormals(sum) + without_subnormals(low + high));
  }
  return sum;
}

std::uint32_t mixed(std::uint32_t i) {  // a hash: every bit of the result depends on all of i
  i = (i ^ i >> 16) * 0x7feb352d;
  i = (i ^ i >> 15) * 0x846ca68b;
  return i ^ i >> 16;
}
/// Returns two bf16 between 2⁻³ and 2⁴, of either sign.
std::uint32_t ordinary(std::uint32_t i) {
  return (mixed(i) & 0x83ff83ff) | 0x3e003e00;
}
/// Returns two tiny bf16: products and sums are around the least normal number, and operands are
/// subnormal.
std::uint32_t tiny(std::uint32_t i) {
  return mixed(i) & (i % 3 == 0 ? 0x80ff80ff : 0xa0ffa0ff);
}

void check_described(const Panels& panels) {
  for (const bool add : {false, true}) {
    std::vector<float> c = panels.c;
    multiply_tiles_by_loops(2 * amx_rows, panels.units, panels.a.data(), panels.b.data(), c.data(), columns,
                            add);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < 2 * amx_rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        const auto at = static_cast<std::size_t>(i * columns + j);
        const float expected = described(panels, i, j, add ? panels.c[at] : 0);
        wrong += std::memcmp(&c[at], &expected, sizeof(float)) != 0;
      }
    }
    CHECK(wrong == 0);
  }
}

void check_instruction(const Panels& panels) {
  const AmxTiles tiles(true);
  for (const std::int64_t rows : {1, 16, 17, 32}) {
    for (const bool add : {false, true}) {
      std::vector<float> by_loops = panels.c, by_tiles = panels.c;
      multiply_tiles_by_loops(rows, panels.units, panels.a.data(), panels.b.data(), by_loops.data(), columns,
                              add);
      multiply_tiles_amx(rows, panels.units, panels.a.data(), panels.b.data(), by_tiles.data(), columns, add);
      CHECK(std::memcmp(by_loops.data(), by_tiles.data(), static_cast<std::size_t>(rows * columns) * 4) == 0);
    }
  }
}

bool is_lacking(Arithmetic arithmetic) {
  const std::string why = arithmetic_unavailable_reason(arithmetic);
  if (!why.empty()) WARN("skipped: the CPU " << why);
  return !why.empty();
}

}  // namespace

TEST_CASE("the loops that stand in for tiles compute what the instruction's description says") {
  if (is_lacking(Arithmetic::amx_by_loops)) return;
  for (const std::int64_t units : {16, 48}) {
    check_described(Panels(units, ordinary));
    check_described(Panels(units, tiny));
  }
}

TEST_CASE("tiles have the bits of the loops that stand in for them") {
  if (is_lacking(Arithmetic::amx)) return;
  for (const std::int64_t units : {16, 48, 400}) {
    check_instruction(Panels(units, ordinary));
    check_instruction(Panels(units, tiny));
  }
}

TEST_CASE("a sum over tiles has the bits that it has when k is cut between calls") {
  if (is_lacking(Arithmetic::amx_by_loops)) return;
  const Panels panels(64, ordinary);
  std::vector<float> whole = panels.c, cut = panels.c;
  multiply_tiles_by_loops(16, 64, panels.a.data(), panels.b.data(), whole.data(), columns, false);
  // Each cut panel has 32 units: its second half begins 32 units further on in the whole panel, and
  // so does that of the neighbouring panel.
  for (const std::int64_t first : {0, 32}) {
    std::vector<float> a(16 * 32), b(32 * 32);
    std::memcpy(a.data(), panels.a.data() + first * 16, a.size() * 4);
    for (std::int64_t panel = 0; panel < 2; ++panel) {
      std::memcpy(b.data() + panel * 16 * 32, panels.b.data() + panel * 16 * 64 + first * 16, 16 * 32 * 4);
    }
    multiply_tiles_by_loops(16, 32, a.data(), b.data(), cut.data(), columns, first > 0);
  }
  CHECK(std::memcmp(whole.data(), cut.data(), 16 * columns * 4) == 0);
}

TEST_CASE("products by tiles have the bits of products by the loops, whatever is packed how") {
  if (is_lacking(Arithmetic::amx)) return;
  for (int transposed = 0; transposed < 4; ++transposed) {
    for (const auto& [M, N, K] : {std::tuple{33, 47, 31}, {70, 97, 800}, {5, 600, 1300}}) {
      const Context context(2, Device::host());
      test::Fixture fixture(context, DType::bf16);
      const Tensor a = fixture.random({M * K}, 1), b = fixture.random({K * N}, 2);
      std::vector<Tensor> results;
      for (const Arithmetic arithmetic : {Arithmetic::amx, Arithmetic::amx_by_loops}) {
        const Tensor c = fixture.output({M, N});
        Product p{};
        p.M = M, p.N = N, p.K = K;
        p.operands = p.output = DType::bf16;
        p.a = {a.raw(), transposed & 1 ? M : K, (transposed & 1) != 0};
        p.b = {b.raw(), transposed & 2 ? K : N, (transposed & 2) != 0};
        p.c = c.raw();
        p.c_stride = N;
        p.arithmetic = arithmetic;
        multiply(context, p);
        results.push_back(c);
      }
      CHECK(test::same_bits(results[0], results[1]));
    }
  }
}

}  // namespace dt::kernels::cpu
