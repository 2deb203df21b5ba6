#pragma once
// Recognition of a file's format by its first bytes.

#include <string_view>

namespace dt::data {

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

}  // namespace dt::data
