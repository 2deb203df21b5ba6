#pragma once
// Lays out a group's parameters if none is divided.

#include <vector>

#include "model/parameter_table.hpp"

namespace dt_test {

inline dt::model::FlatLayout whole_layout(const dt::model::ParameterTable& table,
                                          const dt::model::GroupSpec& group) {
  std::vector<std::int64_t> numels;
  for (const int p : group.params)
    numels.push_back(table.params()[static_cast<std::size_t>(p)].shape.numel());
  return table.flat_layout(group.params, {numels}, 0);
}

}  // namespace dt_test
