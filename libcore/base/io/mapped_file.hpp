#pragma once
// Memory-mapped files.

#include <cstddef>
#include <span>

#include "base/io/files.hpp"

namespace dt {

class MappedRange;

/// A read-only mapping of a file. If the file is truncated or its file system goes away, reading
/// the memory ends the process. It then exits with the code of ErrorKind::environment and prints a
/// message that names the file. No error can be thrown there, since the bytes read before it cannot
/// be trusted.
/// Errors: as File::open_read(); environment.
class MappedFile {
 public:
  explicit MappedFile(const fs::path& path) : MappedFile(File::open_read(path)) {}
  /// `file` may be closed before the mapping ends.
  explicit MappedFile(const File& file);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return bytes_; }

  /// Advises the system to read `part` of bytes() in advance. Reports no error.
  void will_need(std::span<const std::byte> part) const;

 private:
  std::span<const std::byte> bytes_;
  MappedRange* range_;
};

}  // namespace dt
