#pragma once
// Converts a Problem to JSON for all commands. nlohmann's conversion finds it through its
// argument's namespace.

#include "base/path_text.hpp"
#include "checkpoint/reader.hpp"

namespace dt::checkpoint {

template <class Json>
void to_json(Json& json, const Problem& problem) {
  json = Json{{"where", utf8_of(problem.where)}, {"what", utf8_of(problem.what)}};
  if (problem.is_unreadable) json["unreadable"] = true;
}

}  // namespace dt::checkpoint
