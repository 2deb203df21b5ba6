#pragma once
// The files of a tar, cpio or zip archive, one after the other as they stand in it.

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

/// "tar", "zip", …; nullptr where `content` is no archive that is read.
const char* archive_name(Content content);

/// Reads what libarchive reads: ustar, pax, GNU's long names and sparse files, old tar; cpio (binary, odc,
/// newc, crc), which may have nothing but NUL behind its end; zip with its directory at the end, which says
/// what is a link, where `bytes` can be sought in, and otherwise from the front. What is no regular file
/// (folders, links, devices) is passed over. read() gives the content of the present file. Errors: input, a
/// truncated or damaged archive, with `name` and the offset in it, and encrypted files; what `bytes` throws.
class ArchiveReader final : public ByteSource {
 public:
  /// `bytes` outlives it.
  ArchiveReader(ByteSource& bytes, Content content, std::string name);
  ~ArchiveReader() override;
  ArchiveReader(const ArchiveReader&) = delete;

  /// Goes to the next file and returns its path, as the archive has it; nullopt at the end.
  std::optional<std::string> next();
  std::size_t read(std::span<char> out) override;

 private:
  /// Errors: input, where more than NULs follows the end of a cpio archive: a reader of files would lose it.
  void check_end();
  static long fill(archive* archive, void* self, const void** bytes);
  static std::int64_t seek(archive* archive, void* self, std::int64_t offset, int whence);
  Error failure() const;

  ByteSource& bytes_;
  Content content_;
  std::string name_;
  std::vector<char> buffer_;
  std::int64_t position_ = 0;  // in bytes_
  std::size_t filled_ = 0;     // bytes of buffer_
  std::exception_ptr thrown_;  // by bytes_, below libarchive's calls
  archive* archive_;
};

}  // namespace dt::data
