// Functions that a GPU approximates. Here they are computed in fp64. The argument's bits choose an error
// within the documented bound. So code that relies on more accuracy is found.
// Source: PTX ISA 9.0, "Floating Point Instructions".
#include <cmath>
#include <limits>

#include "device/ptx/halves.hpp"
#include "device/ptx/lanes.hpp"

namespace dt::ptx {

namespace {

constexpr double rounding = 0x1p-24;  // to fp32, relative

constexpr auto flushed = [](float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0F, value) : value;
};

/// Returns a number in [−1, 1].
double unit_of(std::uint64_t bits) {
  bits *= 0x9E3779B97F4A7C15;
  bits ^= bits >> 29;
  bits *= 0xBF58476D1CE4E5B9;
  return static_cast<double>(static_cast<std::int64_t>(bits)) * 0x1p-63;
}

/// Returns the value with an error of at most `most`. Zeros, infinities and NaN are exact. Rounding to fp32
/// uses up its part of the error.
float off_by(double exact, double most, std::uint64_t seed) {
  if (!std::isfinite(exact) || exact == 0) return static_cast<float>(exact);
  return static_cast<float>(exact + most * unit_of(seed));
}

/// Computes of(argument) with a relative error of 2^−bits at most.
template <auto of, double bits, bool flushes>
void approximate(Warp& warp, const Instruction& i) {
  constexpr auto function = [](float given) -> float {
    const float a = flushes ? flushed(given) : given;
    const double exact = of(static_cast<double>(a));
    const float result =
        exact == 1 ? 1 : off_by(exact, std::abs(exact) * (std::exp2(-bits) - rounding), bits_of(a));
    return flushes ? flushed(result) : result;
  };
  on_rows<float, function, float>(warp, i);
}

/// Computes a logarithm; its error between ½ and 2 is absolute.
template <bool flushes>
void approximate_log(Warp& warp, const Instruction& i) {
  constexpr auto function = [](float given) -> float {
    const float a = flushes ? flushed(given) : given;
    const double exact = std::log2(static_cast<double>(a));
    const double most = a > 0.5F && a < 2 ? 0x1p-23 : std::abs(exact) * (0x1p-22 - rounding);
    return off_by(exact, most, bits_of(a));
  };
  on_rows<float, function, float>(warp, i);
}

/// Computes a quotient within 2 ulp if the divisor lies in [2^−126, 2^126]; beyond, a finite dividend's
/// quotient is 0.
template <bool flushes>
void approximate_ratio(Warp& warp, const Instruction& i) {
  constexpr auto function = [](float a, float b) -> float {
    if (flushes) a = flushed(a), b = flushed(b);
    if (std::isfinite(b) && std::abs(b) > 0x1p126F)
      return !std::isfinite(a) ? std::numeric_limits<float>::quiet_NaN()
                               : std::copysign(0.0F, std::signbit(a) == std::signbit(b) ? 1.0F : -1.0F);
    const double exact = static_cast<double>(a) / static_cast<double>(b);
    const float result = off_by(exact, std::abs(exact) * rounding, bits_of(a) ^ bits_of(b) << 32);
    return flushes ? flushed(result) : result;
  };
  on_rows<float, function, float, float>(warp, i);
}

/// Computes a reciprocal from the argument's upper 32 bits, into the result's upper 32 bits.
void approximate_reciprocal_f64(Warp& warp, const Instruction& i) {
  constexpr auto function = [](double given) -> double {
    constexpr std::uint64_t upper = 0xFFFFFFFF00000000;
    const auto a = value_of<double>(bits_of(given) & upper);
    if (std::fpclassify(a) == FP_SUBNORMAL || a == 0) return std::copysign(HUGE_VAL, given);
    const double result = 1 / a;
    if (std::fpclassify(result) == FP_SUBNORMAL) return std::copysign(0.0, given);
    return std::isfinite(result) ? value_of<double>(bits_of(result) & upper) : result;
  };
  on_rows<double, function, double>(warp, i);
}
void approximate_inverse_root_f64(Warp& warp, const Instruction& i) {
  constexpr auto function = [](double given) -> double {
    constexpr std::uint64_t upper = 0xFFFFFFFF00000000;
    const double result = 1 / std::sqrt(value_of<double>(bits_of(given) & upper));
    return std::isfinite(result) ? value_of<double>(bits_of(result) & upper) : result;
  };
  on_rows<double, function, double>(warp, i);
}

/// Computes tanh or ex2 of each half.
template <class H, auto of, std::size_t halves, double bits>
void approximate_halves(Warp& warp, const Instruction& i) {
  constexpr auto function = [](std::uint32_t all) -> std::uint32_t {
    std::uint32_t result = 0;
    for (std::size_t h = 0; h < halves; ++h) {
      const auto half = static_cast<float>(value_of<H>(all >> (16 * h)));
      const double exact = of(static_cast<double>(half));
      result |=
          std::uint32_t{narrowed<H>(off_by(exact, std::abs(exact) * std::exp2(-bits), bits_of(half))).bits}
          << (16 * h);
    }
    return result;
  };
  on_rows<std::uint32_t, function, std::uint32_t>(warp, i);
}

constexpr auto power_of_two = [](double a) { return std::exp2(a); };
constexpr auto reciprocal = [](double a) { return 1 / a; };
constexpr auto root = [](double a) { return std::sqrt(a); };
constexpr auto inverse_root = [](double a) { return 1 / std::sqrt(a); };
constexpr auto tangent = [](double a) { return std::tanh(a); };
constexpr auto sine = [](double a) { return std::sin(a); };
constexpr auto cosine = [](double a) { return std::cos(a); };

template <auto of, double bits>
void add(Table& table, const std::string& name) {
  table[name + ".approx.f32"] = {approximate<of, bits, false>};
  table[name + ".approx.ftz.f32"] = {approximate<of, bits, true>};
}

Table make_table() {
  Table table;
  constexpr double one_ulp = 23.415;  // whatever the mantissa, with the rounding here
  // Besides 2^−22: expf, which is made of ex2, is off by 1 ulp at most.
  // Source: CUDA C++ Programming Guide, "Mathematical Functions".
  add<power_of_two, one_ulp>(table, "ex2");
  add<reciprocal, one_ulp>(table, "rcp");
  add<root, 23.0>(table, "sqrt");
  add<inverse_root, 22.9>(table, "rsqrt");
  add<sine, 20.5>(table, "sin");
  add<cosine, 20.5>(table, "cos");
  table["tanh.approx.f32"] = {approximate<tangent, 11.0, false>};
  table["lg2.approx.f32"] = {approximate_log<false>};
  table["lg2.approx.ftz.f32"] = {approximate_log<true>};
  table["div.approx.f32"] = {approximate_ratio<false>};
  table["div.approx.ftz.f32"] = {approximate_ratio<true>};
  table["rcp.approx.ftz.f64"] = {approximate_reciprocal_f64};
  table["rsqrt.approx.ftz.f64"] = {approximate_inverse_root_f64};
  table["tanh.approx.f16"] = {approximate_halves<Float16, tangent, 1, 10.987>};
  table["tanh.approx.f16x2"] = {approximate_halves<Float16, tangent, 2, 10.987>};
  table["tanh.approx.bf16"] = {approximate_halves<BFloat16, tangent, 1, 8.0>};
  table["tanh.approx.bf16x2"] = {approximate_halves<BFloat16, tangent, 2, 8.0>};
  table["ex2.approx.ftz.bf16"] = {approximate_halves<BFloat16, power_of_two, 1, 7.0>};
  table["ex2.approx.ftz.bf16x2"] = {approximate_halves<BFloat16, power_of_two, 2, 7.0>};
  return table;
}

}  // namespace

std::optional<Operation> find_approximation(std::string_view opcode) {
  static const Table table = make_table();
  return find_in(table, opcode);
}

}  // namespace dt::ptx
