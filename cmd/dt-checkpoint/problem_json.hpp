#pragma once
// A Problem as JSON, wherever a command prints one: nlohmann's conversion, found by its argument's namespace.

#include "checkpoint/reader.hpp"

namespace dt::checkpoint {

template <class Json>
void to_json(Json& json, const Problem& problem) {
  json = Json{{"where", problem.where}, {"what", problem.what}};
}

}  // namespace dt::checkpoint
