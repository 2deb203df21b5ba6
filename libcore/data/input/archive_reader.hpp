#pragma once
// Reads the files of a tar, cpio or zip archive in archive order.

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "data/input/byte_source.hpp"
#include "data/input/content.hpp"

struct archive;

namespace dt::data {

/// Returns "tar", "zip", …, or nullptr if `content` is not a supported archive.
const char* archive_name(Content content);

/// Reads archives with libarchive: ustar, pax, GNU's long names and sparse files, old tar; cpio
/// (binary, odc, newc, crc), after whose end only NUL may follow; zip. If `bytes` can seek, zip is
/// read by the directory at its end, which identifies links; otherwise from the front. Skips
/// entries that are not regular files (folders, links, devices). read() returns the content of the
/// present file.
/// Errors: input for a truncated or damaged archive and for encrypted files, with `name` and the
/// offset in it; as `bytes`.
class ArchiveReader final : public ByteSource {
 public:
  /// `bytes` must outlive the reader.
  ArchiveReader(ByteSource& bytes, Content content, std::string name);
  ~ArchiveReader() override;
  ArchiveReader(const ArchiveReader&) = delete;

  /// Moves to the next file and returns its path as the archive has it, or nullopt at the end.
  std::optional<std::string> next();
  std::size_t read(std::span<char> out) override;

 private:
  /// Checks that only NULs follow the end of a cpio archive; a reader of its files would lose
  /// anything else.
  /// Errors: input.
  void check_end();
  static long fill(archive* archive, void* self, const void** bytes);
  static std::int64_t seek(archive* archive, void* self, std::int64_t offset, int whence);
  Error failure() const;

  ByteSource& bytes_;
  Content content_;
  std::string name_;
  std::vector<char> buffer_;
  std::int64_t position_ = 0;  // offset in bytes_
  std::size_t filled_ = 0;     // valid bytes of buffer_
  std::exception_ptr thrown_;  // exception of bytes_ within a libarchive call
  archive* archive_;
};

}  // namespace dt::data
