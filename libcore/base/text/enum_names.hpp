#pragma once
// The names that users and files use for the values of an enum. One table for each enum serves parsing,
// printing, --help and errors.
//
//   enum class Recompute { none, selective, full };
//   constexpr auto enum_names(Recompute) {
//     return std::to_array<EnumName<Recompute>>(
//         {{"none", Recompute::none}, {"selective", Recompute::selective}, {"full", Recompute::full}});
//   }
//
// enum_names() lies in the enum's namespace, where argument-dependent lookup finds it.

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.hpp"

namespace dt {

template <class E>
struct EnumName {
  std::string_view name;
  E value;
};

/// An enum that has a table of names.
template <class E>
concept NamedEnum = std::is_enum_v<E> && requires {
  enum_names(E{}).size();
};

/// Returns the name of a value in a table of EnumName, or "" if the table lacks the value.
template <class Table, class E>
constexpr std::string_view name_in(const Table& table, const E& value) {
  for (const auto& entry : table) {
    if (entry.value == value) return entry.name;
  }
  return "";
}

/// Returns the value of a name in a table of EnumName, or nothing if the table lacks the name.
template <class Table>
constexpr auto value_in(const Table& table, std::string_view name) {
  using Value = std::remove_cvref_t<decltype(table.front().value)>;
  for (const auto& entry : table) {
    if (entry.name == name) return std::optional<Value>(entry.value);
  }
  return std::optional<Value>();
}

/// Returns the names in a table of EnumName, in its order.
template <class Table>
std::vector<std::string> names_in(const Table& table) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.emplace_back(entry.name);
  return names;
}

/// Returns a table's entries of these values, in this order. A value that the table lacks does not
/// compile.
template <auto first, decltype(first)... others, std::size_t N>
consteval auto subset(const std::array<EnumName<decltype(first)>, N>& table) {
  using Entry = EnumName<decltype(first)>;
  const std::array entries = {Entry{name_in(table, first), first}, Entry{name_in(table, others), others}...};
  for (const Entry& entry : entries) {
    if (entry.name.empty()) throw "the table lacks a value";
  }
  return entries;
}

/// Returns the name of a value. All values of a named enum have one.
template <NamedEnum E>
constexpr std::string_view name_of(E value) {
  const std::string_view name = name_in(enum_names(value), value);
  DT_CHECK(!name.empty(), "value {} of an enum has no name", static_cast<int>(value));
  return name;
}

/// Returns the value of a name, or nothing if no value of the enum has it.
template <NamedEnum E>
constexpr std::optional<E> parse_name(std::string_view name) {
  return value_in(enum_names(E{}), name);
}

/// Returns the names of an enum's values, in the order of its table.
template <NamedEnum E>
std::vector<std::string> names_of() {
  return names_in(enum_names(E{}));
}

}  // namespace dt
