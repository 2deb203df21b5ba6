// Arithmetic on registers. Results are rounded to nearest unless an opcode says otherwise.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "device/ptx/halves.hpp"
#include "device/ptx/lanes.hpp"

namespace dt::ptx {

namespace {

using std::int16_t, std::int32_t, std::int64_t, std::uint16_t, std::uint32_t, std::uint64_t;

/// The type in which integers wrap.
template <class T>
using Wrapping = std::conditional_t<(sizeof(T) > 4), uint64_t, uint32_t>;

constexpr auto plus = []<class T>(T a, T b) -> T {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  else
    return a + b;
};
constexpr auto minus = []<class T>(T a, T b) -> T {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
  else
    return a - b;
};
constexpr auto times = []<class T>(T a, T b) -> T {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  else
    return a * b;
};
constexpr auto high_product = []<class T>(T a, T b) -> T {
  __extension__ using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b) >> (8 * sizeof(T)));
};
constexpr auto times_plus = []<class T>(T a, T b, T c) -> T { return plus(times(a, b), c); };
/// PTX leaves division by zero open; hardware gives all ones.
constexpr auto quotient = []<class T>(T a, T b) -> T {
  if (b == 0) return static_cast<T>(-1);
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return minus(T{0}, a);
  }
  return static_cast<T>(a / b);
};
constexpr auto remainder = []<class T>(T a, T b) -> T {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return static_cast<T>(a % b);
};
constexpr auto negated = []<class T>(T a) -> T {
  if constexpr (std::is_integral_v<T>)
    return minus(T{0}, a);
  else
    return -a;
};
/// Takes the sign from the first operand, the value from the second.
constexpr auto with_sign_of = []<class T>(T a, T b) -> T { return std::copysign(b, a); };
constexpr auto absolute = []<class T>(T a) -> T {
  if constexpr (std::is_integral_v<T>)
    return a < 0 ? minus(T{0}, a) : a;
  else
    return std::abs(a);
};
/// Returns the lesser value; −0 is below +0. With a NaN beside a number it returns the number.
constexpr auto lower = []<class T>(T a, T b) -> T {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) ? a : b;
  }
  return a < b ? a : b;
};
constexpr auto higher = []<class T>(T a, T b) -> T {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a > b ? a : b;
};
constexpr auto fused = []<class T>(T a, T b, T c) -> T { return std::fma(a, b, c); };
/// Rounds towards −∞: the double beside the exact sum has the digits that decide.
constexpr auto fused_down = [](float a, float b, float c) -> float {
  const double product = static_cast<double>(a) * static_cast<double>(b), wide = static_cast<double>(c);
  const double sum = product + wide, back = sum - product;
  const double error = (product - (sum - back)) + (wide - back);
  const auto nearest = static_cast<float>(sum);
  const bool is_above = nearest > sum || (nearest == sum && error < 0);
  return is_above && std::isfinite(nearest) ? std::nextafter(nearest, -std::numeric_limits<float>::infinity())
                                            : nearest;
};
constexpr auto root = []<class T>(T a) -> T { return std::sqrt(a); };
constexpr auto reciprocal = []<class T>(T a) -> T { return T{1} / a; };
constexpr auto ratio = []<class T>(T a, T b) -> T { return a / b; };
constexpr auto same = []<class T>(T a) -> T { return a; };
constexpr auto conjunction = []<class T>(T a, T b) -> T { return static_cast<T>(a & b); };
constexpr auto disjunction = []<class T>(T a, T b) -> T { return static_cast<T>(a | b); };
constexpr auto difference = []<class T>(T a, T b) -> T { return static_cast<T>(a ^ b); };
constexpr auto complement = []<class T>(T a) -> T { return static_cast<T>(~a); };
constexpr auto left = []<class T>(T a, uint32_t by) -> T {
  return by >= 8 * sizeof(T) ? T{0} : static_cast<T>(a << by);
};
constexpr auto right = []<class T>(T a, uint32_t by) -> T {
  constexpr uint32_t most = 8 * sizeof(T) - 1;
  if (by > most) return std::is_signed_v<T> ? static_cast<T>(a >> most) : T{0};
  return static_cast<T>(a >> by);
};

template <class T, auto of>
void shift(Warp& warp, const Instruction& i) {
  on_rows<T, of, T, uint32_t>(warp, i);
}
template <class T, class Wide>
void wide_product(Warp& warp, const Instruction& i) {
  on_rows<Wide, [](T a, T b) { return times(static_cast<Wide>(a), static_cast<Wide>(b)); }, T, T>(warp, i);
}
template <class T, class Wide>
void wide_product_plus(Warp& warp, const Instruction& i) {
  on_rows<Wide, [](T a, T b, Wide c) { return plus(times(static_cast<Wide>(a), static_cast<Wide>(b)), c); },
          T, T, Wide>(warp, i);
}

/// Executes mov of T: one register, several smaller ones that make one, or one that becomes several; `_`
/// gets none.
template <class T>
void move(Warp& warp, const Instruction& i) {
  const unsigned to_bits = 8 * sizeof(T) / i.num_to, from_bits = 8 * sizeof(T) / i.num_from;
  const auto low = [](unsigned bits) { return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; };
  for_lanes(warp, [&](unsigned lane) {
    uint64_t whole = 0;
    for (unsigned n = 0; n < i.num_from; ++n)
      whole |= (warp.row(i.from[n])[lane] & low(from_bits)) << (n * from_bits);
    for (unsigned n = 0; n < i.num_to; ++n) {
      if (i.to[n] >= 0) warp.row(i.to[n])[lane] = whole >> (n * to_bits) & low(to_bits);
    }
  });
}

/// Selects bytes of two words, or copies of their signs.
constexpr auto permuted = [](uint32_t a, uint32_t b, uint32_t which) -> uint32_t {
  const uint64_t bytes = uint64_t{b} << 32 | a;
  uint32_t result = 0;
  for (unsigned n = 0; n < 4; ++n) {
    const uint32_t selector = which >> (4 * n) & 0xF;
    auto byte = static_cast<uint32_t>(bytes >> (8 * (selector & 7)) & 0xFF);
    if ((selector & 8) != 0) byte = (byte & 0x80) != 0 ? 0xFF : 0;
    result |= byte << (8 * n);
  }
  return result;
};
constexpr auto funnel_left = [](uint32_t low, uint32_t high, uint32_t by) -> uint32_t {
  return static_cast<uint32_t>((uint64_t{high} << 32 | low) << (by & 31) >> 32);
};
constexpr auto funnel_right = [](uint32_t low, uint32_t high, uint32_t by) -> uint32_t {
  return static_cast<uint32_t>((uint64_t{high} << 32 | low) >> (by & 31));
};
template <class T, auto of>
void counted(Warp& warp, const Instruction& i) {
  on_rows<uint32_t, of, T>(warp, i);
}
template <class T, bool is_signed>
void bit_field(Warp& warp, const Instruction& i) {
  constexpr auto extract = [](T a, uint32_t begin, uint32_t count) -> T {
    constexpr uint32_t bits = 8 * sizeof(T);
    begin &= 0xFF;
    count = std::min(count & 0xFF, bits);
    if (count == 0) return 0;
    using U = std::make_unsigned_t<T>;
    const U sign = is_signed && static_cast<U>(a) >> std::min(begin + count - 1, bits - 1) & 1 ? ~U{0} : U{0};
    const U value = begin >= bits ? sign : static_cast<U>(right(a, begin));
    return static_cast<T>(count == bits ? value : (value & ((U{1} << count) - 1)) | sign << count);
  };
  on_rows<T, extract, T, uint32_t, uint32_t>(warp, i);
}
constexpr auto logic = [](uint32_t a, uint32_t b, uint32_t c, uint32_t table) -> uint32_t {
  uint32_t result = 0;
  for (unsigned n = 0; n < 8; ++n) {
    if ((table >> n & 1U) != 0) result |= ((n & 4) ? a : ~a) & ((n & 2) ? b : ~b) & ((n & 1) ? c : ~c);
  }
  return result;
};

/// Computes on 16-bit floats in fp64, whose digits hold any of these exactly or nearly so, and rounds once.
template <class H, auto of, std::size_t halves, std::size_t... n>
void on_halves(Warp& warp, const Instruction& i, std::index_sequence<n...>) {
  const std::array<const uint64_t*, sizeof...(n)> from{warp.row(i.from[n])...};
  uint64_t* const to = warp.row(i.to[0]);
  for_lanes(warp, [&](unsigned lane) {
    uint64_t bits = 0;
    for (std::size_t h = 0; h < halves; ++h) {
      const auto wide = [&](uint64_t row) {
        return static_cast<double>(static_cast<float>(value_of<H>(row >> (16 * h))));
      };
      bits |= uint64_t{narrowed<H>(of(wide(from[n][lane])...)).bits} << (16 * h);
    }
    to[lane] = bits;
  });
}
template <class H, auto of, std::size_t halves, std::size_t operands>
void of_halves(Warp& warp, const Instruction& i) {
  on_halves<H, of, halves>(warp, i, std::make_index_sequence<operands>());
}

// Tables of operations, by the types that an operation has.

template <auto of, class... T>
void add_binary(Table& table, const std::string& name) {
  ((table[name + type_name<T>()] = {binary<T, of>}), ...);
}
template <auto of, class... T>
void add_unary(Table& table, const std::string& name) {
  ((table[name + type_name<T>()] = {unary<T, of>}), ...);
}
template <auto of, class... T>
void add_ternary(Table& table, const std::string& name) {
  ((table[name + type_name<T>()] = {ternary<T, of>}), ...);
}
template <class... T>
void add_untyped(Table& table) {
  ((table["and." + untyped_name<T>()] = {binary<T, conjunction>}), ...);
  ((table["or." + untyped_name<T>()] = {binary<T, disjunction>}), ...);
  ((table["xor." + untyped_name<T>()] = {binary<T, difference>}), ...);
  ((table["not." + untyped_name<T>()] = {unary<T, complement>}), ...);
  ((table["shl." + untyped_name<T>()] = {shift<T, left>}), ...);
  ((table["shr." + untyped_name<T>()] = {shift<T, right>}), ...);
  ((table["mov." + untyped_name<T>()] = {move<T>}), ...);
}
template <class... T>
void add_moves(Table& table) {
  ((table[std::string("mov.") + type_name<T>()] = {move<T>}), ...);
}
template <class... T>
void add_integers(Table& table) {
  add_binary<plus, T...>(table, "add.");
  add_binary<minus, T...>(table, "sub.");
  add_binary<times, T...>(table, "mul.lo.");
  add_binary<high_product, T...>(table, "mul.hi.");
  add_ternary<times_plus, T...>(table, "mad.lo.");
  add_binary<quotient, T...>(table, "div.");
  add_binary<remainder, T...>(table, "rem.");
  add_binary<lower, T...>(table, "min.");
  add_binary<higher, T...>(table, "max.");
  ((table[std::string("shr.") + type_name<T>()] = {shift<T, right>}), ...);
}
template <class... T>
void add_floats(Table& table) {
  for (const char* const rounding : {"", "rn."}) {
    add_binary<plus, T...>(table, std::string("add.") + rounding);
    add_binary<minus, T...>(table, std::string("sub.") + rounding);
    add_binary<times, T...>(table, std::string("mul.") + rounding);
  }
  add_ternary<fused, T...>(table, "fma.rn.");
  add_binary<ratio, T...>(table, "div.rn.");
  add_unary<reciprocal, T...>(table, "rcp.rn.");
  add_unary<root, T...>(table, "sqrt.rn.");
  add_unary<negated, T...>(table, "neg.");
  add_unary<absolute, T...>(table, "abs.");
  add_binary<with_sign_of, T...>(table, "copysign.");
  add_binary<lower, T...>(table, "min.");
  add_binary<higher, T...>(table, "max.");
}
template <class H>
void add_halves(Table& table, const std::string& type) {
  const auto add = [&]<auto of, std::size_t operands>(const std::string& name) {
    table[name + type] = {of_halves<H, of, 1, operands>};
    table[name + type + "x2"] = {of_halves<H, of, 2, operands>};
  };
  for (const char* const rounding : {"", "rn."}) {
    add.template operator()<plus, 2>(std::string("add.") + rounding);
    add.template operator()<minus, 2>(std::string("sub.") + rounding);
    add.template operator()<times, 2>(std::string("mul.") + rounding);
  }
  add.template operator()<fused, 3>("fma.rn.");
  add.template operator()<negated, 1>("neg.");
  add.template operator()<absolute, 1>("abs.");
  add.template operator()<lower, 2>("min.");
  add.template operator()<higher, 2>("max.");
}

Table make_table() {
  Table table;
  add_untyped<uint16_t, uint32_t, uint64_t>(table);
  add_moves<uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, float, double>(table);
  add_integers<uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>(table);
  add_unary<negated, int16_t, int32_t, int64_t>(table, "neg.");
  add_unary<absolute, int16_t, int32_t, int64_t>(table, "abs.");
  table["mul.wide.u16"] = {wide_product<uint16_t, uint32_t>};
  table["mul.wide.s16"] = {wide_product<int16_t, int32_t>};
  table["mul.wide.u32"] = {wide_product<uint32_t, uint64_t>};
  table["mul.wide.s32"] = {wide_product<int32_t, int64_t>};
  table["mad.wide.u32"] = {wide_product_plus<uint32_t, uint64_t>};
  table["mad.wide.s32"] = {wide_product_plus<int32_t, int64_t>};
  add_floats<float, double>(table);
  table["fma.rm.f32"] = {ternary<float, fused_down>};
  add_halves<Float16>(table, "f16");
  add_halves<BFloat16>(table, "bf16");
  table["prmt.b32"] = {on_rows<uint32_t, permuted, uint32_t, uint32_t, uint32_t>};
  table["shf.l.wrap.b32"] = {ternary<uint32_t, funnel_left>};
  table["shf.r.wrap.b32"] = {ternary<uint32_t, funnel_right>};
  table["popc.b32"] = {counted<uint32_t, [](uint32_t a) { return std::popcount(a); }>};
  table["popc.b64"] = {counted<uint64_t, [](uint64_t a) { return std::popcount(a); }>};
  table["clz.b32"] = {counted<uint32_t, [](uint32_t a) { return std::countl_zero(a); }>};
  table["clz.b64"] = {counted<uint64_t, [](uint64_t a) { return std::countl_zero(a); }>};
  table["bfe.u32"] = {bit_field<uint32_t, false>};
  table["bfe.s32"] = {bit_field<int32_t, true>};
  table["bfe.u64"] = {bit_field<uint64_t, false>};
  table["bfe.s64"] = {bit_field<int64_t, true>};
  table["lop3.b32"] = {on_rows<uint32_t, logic, uint32_t, uint32_t, uint32_t, uint32_t>};
  return table;
}

}  // namespace

std::optional<Operation> find_arithmetic(std::string_view opcode) {
  static const Table table = make_table();
  return find_in(table, opcode);
}

}  // namespace dt::ptx
