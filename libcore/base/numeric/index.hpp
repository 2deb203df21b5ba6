#pragma once
// Converts the int numbers of units, parameters and groups to indices.

#include <cstddef>

namespace dt {

inline std::size_t to_index(int i) {
  return static_cast<std::size_t>(i);
}

}  // namespace dt
