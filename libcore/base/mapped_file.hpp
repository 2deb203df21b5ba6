#pragma once
// Files as memory.

#include <cstddef>
#include <span>

#include "base/files.hpp"

namespace dt {

class MappedRange;

/// Read-only. Where the file is cut or its file system goes away, reading the memory ends the process, with
/// the exit code of ErrorKind::environment and a message on stderr that names the file: by then nobody can
/// answer for what was read. Errors: of File::open_read; environment.
class MappedFile {
 public:
  explicit MappedFile(const fs::path& path) : MappedFile(File::open_read(path)) {}
  /// `file` may be closed before this ends.
  explicit MappedFile(const File& file);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return bytes_; }

  /// Has the system read in `part`, one of bytes(). Advice, so what it comes to is no error.
  void will_need(std::span<const std::byte> part) const;

 private:
  std::span<const std::byte> bytes_;
  MappedRange* range_;
};

}  // namespace dt
