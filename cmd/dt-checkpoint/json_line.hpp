#pragma once
// One JSON object a line on stdout.

#include <nlohmann/json.hpp>
#include <vector>

#include "base/console.hpp"
#include "checkpoint/reader.hpp"

namespace dt::checkpoint_tool {

using json = nlohmann::ordered_json;

/// Paths may hold bytes that are no UTF-8: they are replaced.
inline void print_json(const json& object, Console& console) {
  console.out(object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
}

inline json to_json(const std::vector<checkpoint::Problem>& problems) {
  json list = json::array();
  for (const checkpoint::Problem& p : problems) list.push_back({{"where", p.where}, {"what", p.what}});
  return list;
}

}  // namespace dt::checkpoint_tool
