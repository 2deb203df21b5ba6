#pragma once
// The manifest's member `mesh`: the layout that wrote the checkpoint. See FORMATS.md.

#include <string>

#include "base/io/json.hpp"
#include "model/layout.hpp"

namespace dt::checkpoint {

/// Returns the layout as a JSON object.
std::string to_json(const model::Layout& layout);
/// Parses the layout of a model with `num_units` units. Members that an older dt did not write keep
/// their defaults. Replaces a schedule that only a later dt knows by the default.
/// Errors: input, naming the member, if a table does not name each unit once.
model::Layout parse_layout(const JsonValue& mesh, int num_units);

}  // namespace dt::checkpoint
