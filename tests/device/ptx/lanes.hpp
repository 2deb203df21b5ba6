#pragma once
// Operations on values, lifted to rows.

#include <string>
#include <type_traits>
#include <unordered_map>

#include "device/ptx/operations.hpp"
#include "device/ptx/warp.hpp"

namespace dt::ptx {

/// Computes of(a, b, …) on rows of `Operands`.
template <class Result, auto of, class... Operands>
void on_rows(Warp& warp, const Instruction& i) {
  std::uint64_t* const to = warp.row(i.to[0]);
  [&]<std::size_t... n>(std::index_sequence<n...>) {
    const std::array<const std::uint64_t*, sizeof...(n)> from{warp.row(i.from[n])...};
    for_lanes(warp, [&](unsigned lane) {
      to[lane] = bits_of(static_cast<Result>(of(value_of<Operands>(from[n][lane])...)));
    });
  }
  (std::index_sequence_for<Operands...>());
}

template <class T, auto of>
void unary(Warp& warp, const Instruction& i) {
  on_rows<T, of, T>(warp, i);
}
template <class T, auto of>
void binary(Warp& warp, const Instruction& i) {
  on_rows<T, of, T, T>(warp, i);
}
template <class T, auto of>
void ternary(Warp& warp, const Instruction& i) {
  on_rows<T, of, T, T, T>(warp, i);
}

using Table = std::unordered_map<std::string, Operation>;

inline std::optional<Operation> find_in(const Table& table, std::string_view opcode) {
  const auto place = table.find(std::string(opcode));
  return place == table.end() ? std::nullopt : std::optional(place->second);
}

/// Returns PTX's name of a type.
template <class T>
constexpr const char* type_name() {
  if constexpr (std::is_same_v<T, float>) return "f32";
  if constexpr (std::is_same_v<T, double>) return "f64";
  if constexpr (std::is_same_v<T, std::uint8_t>) return "u8";
  if constexpr (std::is_same_v<T, std::int8_t>) return "s8";
  if constexpr (std::is_same_v<T, std::uint16_t>) return "u16";
  if constexpr (std::is_same_v<T, std::int16_t>) return "s16";
  if constexpr (std::is_same_v<T, std::uint32_t>) return "u32";
  if constexpr (std::is_same_v<T, std::int32_t>) return "s32";
  if constexpr (std::is_same_v<T, std::uint64_t>) return "u64";
  if constexpr (std::is_same_v<T, std::int64_t>) return "s64";
}
/// Returns the name of a type without a sign: "b16" for "u16".
template <class T>
std::string untyped_name() {
  return "b" + std::to_string(8 * sizeof(T));
}

}  // namespace dt::ptx
