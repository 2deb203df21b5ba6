#pragma once
// Tokens on disk, named by file and range rather than held in memory.

#include <cstdint>
#include <memory>

#include "base/io/files.hpp"

namespace dt::data {

struct TokenRun {
  std::shared_ptr<const File> file;
  std::uint64_t offset;  // in bytes
  std::uint64_t bytes;

  TokenRun first(std::uint64_t count) const { return {file, offset, count}; }
  TokenRun from(std::uint64_t begin) const { return {file, offset + begin, bytes - begin}; }
  bool goes_on_with(const TokenRun& next) const { return file == next.file && offset + bytes == next.offset; }
};

}  // namespace dt::data
