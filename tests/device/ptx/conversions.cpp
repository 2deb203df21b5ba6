// cvt: from any type to any.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/error.hpp"
#include "device/ptx/halves.hpp"
#include "device/ptx/lanes.hpp"

namespace dt::ptx {

namespace {

enum class Rounding : std::uint8_t { nearest, zero, down, up };
// Bits of Instruction::mode: a Rounding, and these.
constexpr std::uint8_t rounding_bits = 3, to_integer = 4, saturates = 8;

template <class T>
constexpr bool is_half = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
template <class T>
constexpr bool is_float = std::is_floating_point_v<T> || is_half<T>;

double rounded_to_integer(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::nearest:
      return std::nearbyint(value);
    case Rounding::zero:
      return std::trunc(value);
    case Rounding::down:
      return std::floor(value);
    case Rounding::up:
      return std::ceil(value);
  }
  return value;
}

/// Returns the integer; the type's bounds for values beyond them; 0 for a NaN.
template <class D>
D to_bounds(double value) {
  if (std::isnan(value)) return 0;
  // 2^digits is exact; the largest value need not be.
  const double end = std::ldexp(1.0, std::numeric_limits<D>::digits);
  if (value >= end) return std::numeric_limits<D>::max();
  if (value < static_cast<double>(std::numeric_limits<D>::lowest())) return std::numeric_limits<D>::lowest();
  return static_cast<D>(value);
}

template <class D, class S>
D integer_of_integer(S value, bool saturate) {
  if (saturate) {
    if (std::cmp_less(value, std::numeric_limits<D>::lowest())) return std::numeric_limits<D>::lowest();
    if (std::cmp_greater(value, std::numeric_limits<D>::max())) return std::numeric_limits<D>::max();
  }
  return static_cast<D>(value);
}

/// Returns the nearest float, or its neighbour on the other side of the value, as the rounding asks.
template <class D>
D narrowed_float(double value, Rounding rounding) {
  if constexpr (is_half<D>) {
    if (rounding == Rounding::nearest) return narrowed<D>(value);
    D result = narrowed<D>(value);
    const bool is_beyond = std::abs(static_cast<double>(static_cast<float>(result))) > std::abs(value);
    if (is_beyond) --result.bits;  // towards zero, the only other rounding of halves
    return result;
  } else {
    const auto nearest = static_cast<D>(value);
    if (rounding == Rounding::nearest || !std::isfinite(value) || static_cast<double>(nearest) == value)
      return nearest;
    const bool wants_less = rounding == Rounding::down || (rounding == Rounding::zero && value > 0);
    const bool is_more = static_cast<double>(nearest) > value;
    if (wants_less == !is_more) return nearest;
    return std::nextafter(nearest, static_cast<D>(wants_less ? -HUGE_VAL : HUGE_VAL));
  }
}

template <class D, class S>
D float_of_float(S from, std::uint8_t mode) {
  const auto rounding = static_cast<Rounding>(mode & rounding_bits);
  double value = 0;
  if constexpr (is_half<S>)
    value = static_cast<double>(static_cast<float>(from));
  else
    value = static_cast<double>(from);
  if ((mode & to_integer) != 0) value = rounded_to_integer(value, rounding);
  if ((mode & saturates) != 0) value = std::isnan(value) ? 0 : std::clamp(value, 0.0, 1.0);
  return narrowed_float<D>(value, rounding);
}

template <class D, class S>
D converted(S from, std::uint8_t mode) {
  if constexpr (is_float<D> && is_float<S>) {
    return float_of_float<D>(from, mode);
  } else if constexpr (is_float<D>) {
    if constexpr (is_half<D>)
      return narrowed<D>(static_cast<double>(from));
    else
      return static_cast<D>(from);
  } else if constexpr (is_float<S>) {
    double value = 0;
    if constexpr (is_half<S>)
      value = static_cast<double>(static_cast<float>(from));
    else
      value = static_cast<double>(from);
    return to_bounds<D>(rounded_to_integer(value, static_cast<Rounding>(mode & rounding_bits)));
  } else {
    return integer_of_integer<D>(from, (mode & saturates) != 0);
  }
}

/// Returns the bits in a register. A signed result fills its register, which may be wider.
template <class D>
std::uint64_t filled(D value) {
  if constexpr (std::is_integral_v<D> && std::is_signed_v<D>)
    return static_cast<std::uint64_t>(std::int64_t{value});
  else
    return bits_of(value);
}

template <class D, class S>
void convert(Warp& warp, const Instruction& i) {
  const std::uint64_t* const from = warp.row(i.from[0]);
  std::uint64_t* const to = warp.row(i.to[0]);
  for_lanes(warp, [&](unsigned lane) { to[lane] = filled(converted<D>(value_of<S>(from[lane]), i.mode)); });
}

/// Converts two fp32; the first becomes the upper half.
template <class H>
void convert_pair(Warp& warp, const Instruction& i) {
  const std::uint64_t *const upper = warp.row(i.from[0]), *const lower = warp.row(i.from[1]);
  std::uint64_t* const to = warp.row(i.to[0]);
  for_lanes(warp, [&](unsigned lane) {
    const auto half = [&](std::uint64_t bits) {
      return std::uint64_t{float_of_float<H>(value_of<float>(bits), i.mode).bits};
    };
    to[lane] = half(upper[lane]) << 16 | half(lower[lane]);
  });
}

template <class T>
std::string name_of() {
  if constexpr (std::is_same_v<T, Float16>)
    return "f16";
  else if constexpr (std::is_same_v<T, BFloat16>)
    return "bf16";
  else
    return type_name<T>();
}

template <class D, class... S>
void add_sources(Table& table) {
  ((table[name_of<D>() + "." + name_of<S>()] = {convert<D, S>}), ...);
}
template <class... T>
void add_all(Table& table) {
  (add_sources<T, T...>(table), ...);
}

Table make_table() {
  Table table;
  add_all<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t, std::int32_t, std::uint64_t,
          std::int64_t, Float16, BFloat16, float, double>(table);
  table["f16x2.f32"] = {convert_pair<Float16>};
  table["bf16x2.f32"] = {convert_pair<BFloat16>};
  return table;
}

struct Modifier {
  std::string_view name;
  std::uint8_t mode;
};
constexpr std::uint8_t mode_of(Rounding rounding) {
  return static_cast<std::uint8_t>(rounding);
}
constexpr Modifier modifiers[] = {{"rn.", mode_of(Rounding::nearest)},
                                  {"rz.", mode_of(Rounding::zero)},
                                  {"rm.", mode_of(Rounding::down)},
                                  {"rp.", mode_of(Rounding::up)},
                                  {"rni.", mode_of(Rounding::nearest) | to_integer},
                                  {"rzi.", mode_of(Rounding::zero) | to_integer},
                                  {"rmi.", mode_of(Rounding::down) | to_integer},
                                  {"rpi.", mode_of(Rounding::up) | to_integer},
                                  {"sat.", saturates}};

/// Returns whether the conversion exists. Halves have no other roundings than to nearest and to zero.
bool is_meant(std::string_view types, std::uint8_t mode) {
  const auto rounding = static_cast<Rounding>(mode & rounding_bits);
  const bool is_of_half = types.starts_with("f16") || types.starts_with("bf16");
  return !is_of_half || rounding == Rounding::nearest || rounding == Rounding::zero;
}

}  // namespace

std::optional<Operation> find_conversion(std::string_view opcode) {
  static const Table table = make_table();
  if (!opcode.starts_with("cvt.")) return std::nullopt;
  std::string_view rest = opcode.substr(4);
  std::uint8_t mode = 0;
  for (bool any = true; any;) {
    any = false;
    for (const Modifier& modifier : modifiers) {
      if (!rest.starts_with(modifier.name)) continue;
      rest.remove_prefix(modifier.name.size());
      mode |= modifier.mode;
      any = true;
    }
  }
  std::optional<Operation> operation = find_in(table, rest);
  if (!operation || !is_meant(rest, mode)) return std::nullopt;
  operation->mode = mode;
  return operation;
}

}  // namespace dt::ptx
