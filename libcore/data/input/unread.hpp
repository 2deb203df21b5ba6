#pragma once
// Formats that dt does not read: what they are, and how their text becomes something that it does read.

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "data/input/content.hpp"

namespace dt::data {

/// The input error for a Parquet, Arrow or Feather file, with a command that converts it. `is_file`: `name`
/// is a file's, not a member's of an archive.
Error table_error(Content content, const std::string& name, bool is_file);

/// Errors: input, naming the format and what to do, where `first`, the first 512 bytes of what is plain,
/// begin one that is neither text nor read.
void check_is_read(std::string_view first, const std::string& name);

/// Errors: input, where a file in a zip archive tells that the archive is a document (.docx, .epub).
void check_is_no_document(const std::string& archive, const std::string& member, bool is_first);

}  // namespace dt::data
