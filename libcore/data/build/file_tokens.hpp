#pragma once
// Tokens on disk, named by file and range rather than held in memory.

#include <cstdint>
#include <memory>

#include "base/io/files.hpp"

namespace dt::data {

struct FileTokens {
  std::shared_ptr<const File> file;
  std::uint64_t offset;  // in bytes
  std::uint64_t bytes;

  FileTokens prefix(std::uint64_t count) const { return {file, offset, count}; }
  FileTokens suffix(std::uint64_t begin) const { return {file, offset + begin, bytes - begin}; }
  bool is_followed_by(const FileTokens& next) const {
    return file == next.file && offset + bytes == next.offset;
  }
};

}  // namespace dt::data
