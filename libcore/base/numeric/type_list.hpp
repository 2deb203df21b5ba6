#pragma once
// Lists of C++ types.

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

namespace dt {

template <class... Ts>
struct TypeList {};

template <class... Lists>
struct Join;
template <class... Ts>
struct Join<TypeList<Ts...>> {
  using type = TypeList<Ts...>;
};
template <class... Ts, class... Us, class... Lists>
struct Join<TypeList<Ts...>, TypeList<Us...>, Lists...> : Join<TypeList<Ts..., Us...>, Lists...> {};
/// A list of the types of several lists.
template <class... Lists>
using Joined = typename Join<Lists...>::type;

/// Says whether T is in the list.
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
