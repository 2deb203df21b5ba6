#pragma once
// The member `mesh` of a manifest: the layout that wrote a checkpoint. See FORMATS.md.

#include <string>

#include "base/json.hpp"
#include "model/layout.hpp"

namespace dt::checkpoint {

/// A JSON object.
std::string to_json(const model::Layout& layout);
/// Of a model of so many units. What an older dt did not write stays as a layout has it by default, and a
/// schedule of a later dt is taken for that. Error{input}, naming the member: a table that does not name each
/// unit once.
model::Layout parse_layout(const JsonValue& mesh, int num_units);

}  // namespace dt::checkpoint
