#pragma once
// The two parts of a dataset.

#include <array>
#include <string_view>

namespace dt::data {

enum class Split { train, validation };

inline constexpr std::array all_splits = {Split::train, Split::validation};

/// Returns the split's name in files.
constexpr std::string_view split_name(Split split) {
  return split == Split::train ? "train" : "validation";
}

}  // namespace dt::data
