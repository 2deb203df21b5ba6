#pragma once
// Tables of columns, which dt does not read, and how they become JSON lines, which it does.

#include <string>

#include "base/error.hpp"
#include "data/input/content.hpp"

namespace dt::data {

/// The input error for a Parquet, Arrow or Feather file, with a command that converts it. `is_file`: `name`
/// is a file's, not a member's of an archive.
Error table_error(Content content, const std::string& name, bool is_file);

}  // namespace dt::data
