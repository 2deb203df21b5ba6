#pragma once
// Lists of C++ types.

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

namespace dt {

template <class... Ts>
struct TypeList {};

template <class... Ts>
TypeList<Ts...> join_types(TypeList<Ts...>);
template <class... Ts, class... Us, class... Lists>
auto join_types(TypeList<Ts...>, TypeList<Us...>, Lists...) {
  return join_types(TypeList<Ts..., Us...>(), Lists()...);
}
/// A list of the types of several lists.
template <class... Lists>
using Joined = decltype(join_types(Lists()...));

/// Whether T is in the list.
template <class T, class List>
inline constexpr bool is_one_of = false;
template <class T, class... Ts>
inline constexpr bool is_one_of<T, TypeList<Ts...>> = (std::is_same_v<T, Ts> || ...);

/// Returns the place of T in a list.
template <class T, class... Ts>
consteval std::size_t index_in(TypeList<Ts...>) {
  const std::array matches = {std::is_same_v<T, Ts>...};
  return static_cast<std::size_t>(std::ranges::find(matches, true) - matches.begin());
}

}  // namespace dt
