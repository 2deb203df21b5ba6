#pragma once
// Recognition of a file's format by its first bytes, and the commands that convert formats which dt does not
// read.

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace dt::data {

struct InputOptions;

/// Formats that the first bytes tell apart.
enum class Content {
  plain,
  gzip,
  zstd,
  xz,
  lzma,
  lzip,
  bzip2,
  lz4,
  tar,
  cpio,
  zip,
  parquet,
  arrow_file,
  arrow_stream,
  feather_v1
};

/// Returns the format. `first` is the first 512 bytes of a file, or all of a shorter one.
/// Unrecognized content is plain.
Content content_of(std::string_view first);

/// Returns the input error for a Parquet, Arrow or Feather file, with a command that converts it.
/// `is_file` means that `name` is a file, not a member of an archive.
Error unsupported_table_error(Content content, const std::string& name, bool is_file);

/// Checks that plain bytes, whose first 512 are `first`, can be read as `options` say. They must
/// begin no format that dt does not read. A file to be recognized by content must also look like
/// text. `plain_name` is the name without the suffix of a compression.
/// Errors: input, naming the format and what to do.
void check_plain(std::string_view first, const std::string& name, const std::string& plain_name,
                 const InputOptions& options);

/// Checks that a zip archive is not a document (.docx, .epub), by its member.
/// Errors: input if it is.
void check_is_no_document(const std::string& archive, const std::string& member, bool is_first);

}  // namespace dt::data
