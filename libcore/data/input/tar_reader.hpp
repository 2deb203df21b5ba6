#pragma once
// The files of a tar archive, one after the other as they stand in it.

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "data/input/byte_source.hpp"

struct archive;

namespace dt::data {

/// What libarchive reads: ustar, pax, GNU's long names and sparse files, old tar. Read from the front; what
/// is no regular file (folders, links, devices) is passed over. read() gives the content of the present file.
/// Errors: input, a truncated or damaged archive, with `name` and the offset in it; what `bytes` throws.
class TarReader final : public ByteSource {
 public:
  /// `bytes` outlives it.
  TarReader(ByteSource& bytes, std::string name);
  ~TarReader() override;
  TarReader(const TarReader&) = delete;

  /// Goes to the next file and returns its path, as the archive has it; nullopt at the end.
  std::optional<std::string> next();
  std::size_t read(std::span<char> out) override;

 private:
  static long fill(archive* archive, void* self, const void** bytes);
  Error failure() const;

  ByteSource& bytes_;
  std::string name_;
  std::vector<char> buffer_;
  std::exception_ptr thrown_;  // by bytes_, below libarchive's calls
  archive* archive_;
};

}  // namespace dt::data
