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
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace dt {

template <class E>
struct EnumName {
  std::string_view name;
  E value;
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
  std::optional<std::remove_cvref_t<decltype(table.front().value)>> value;
  for (const auto& entry : table) {
    if (entry.name == name) value = entry.value;
  }
  return value;
}

/// Returns the names in a table of EnumName, in its order.
template <class Table>
std::vector<std::string> names_in(const Table& table) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.emplace_back(entry.name);
  return names;
}

/// Returns the name of a value, or "" if its enum has no name for it.
template <class E>
constexpr std::string_view name_of(E value) {
  return name_in(enum_names(value), value);
}

/// Returns the value of a name, or nothing if no value of the enum has it.
template <class E>
constexpr std::optional<E> parse_name(std::string_view name) {
  return value_in(enum_names(E{}), name);
}

/// Returns the names of an enum's values, in the order of its table.
template <class E>
std::vector<std::string> names_of() {
  return names_in(enum_names(E{}));
}

}  // namespace dt
