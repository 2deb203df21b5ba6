#pragma once
// Formats that dt does not read: what they are, and how their text becomes something that it does read.

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "data/input/content.hpp"
#include "data/input/input_options.hpp"

namespace dt::data {

/// The input error for a Parquet, Arrow or Feather file, with a command that converts it. `is_file`: `name`
/// is a file's, not a member's of an archive.
Error table_error(Content content, const std::string& name, bool is_file);

/// Checks that plain bytes, of which `first` are the first 512, can be read as `options` say: they begin no
/// format that dt does not read, and what is to be known by its content is not hardly text. `plain_name` is
/// the name without the suffix of a compression.
/// Errors: input, naming the format and what to do.
void check_plain(std::string_view first, const std::string& name, const std::string& plain_name,
                 const InputOptions& options);

/// Errors: input, where a file in a zip archive tells that the archive is a document (.docx, .epub).
void check_is_no_document(const std::string& archive, const std::string& member, bool is_first);

}  // namespace dt::data
