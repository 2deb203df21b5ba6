#pragma once
// Units, parameters and groups are numbered by int.

#include <cstddef>

namespace dt::parallel {

inline std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

}  // namespace dt::parallel
