#pragma once
// Converts a Problem to JSON for all commands. nlohmann's conversion finds it through its
// argument's namespace.

#include "base/text/utf8.hpp"
#include "checkpoint/reader.hpp"

namespace dt::checkpoint {

template <class Json>
void to_json(Json& json, const Problem& problem) {
  json = Json{{"where", escape_invalid_utf8(problem.where)}, {"what", escape_invalid_utf8(problem.what)}};
  if (problem.is_unreadable) json["unreadable"] = true;
}

}  // namespace dt::checkpoint
