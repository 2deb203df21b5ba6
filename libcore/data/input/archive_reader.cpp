#include "data/input/archive_reader.hpp"

#include <algorithm>
#include <archive.h>
#include <archive_entry.h>
#include <cstdio>
#include <string_view>

namespace dt::data {

namespace {

constexpr std::size_t buffer_bytes = std::size_t{128} << 10;

std::string path_of(archive_entry* entry) {
  const char* path = archive_entry_pathname_utf8(entry);
  if (path == nullptr) path = archive_entry_pathname(entry);
  return path == nullptr ? "" : path;
}

/// Returns the size of a cpio archive's last entry: "TRAILER!!!" and NUL, padded.
/// Source: cpio(5).
std::int64_t trailer_bytes(archive* archive) {
  constexpr std::int64_t name = 11;
  switch (archive_format(archive)) {
    case ARCHIVE_FORMAT_CPIO_POSIX:
      return 76 + name;
    case ARCHIVE_FORMAT_CPIO_BIN_LE:
    case ARCHIVE_FORMAT_CPIO_BIN_BE:
      return 26 + name + 1;
    default:
      return 110 + name + 3;
  }
}

/// Returns whether a file's content is stored with the last of its names, as in newc. Other formats
/// store it with each name.
bool has_content_at_last_link(archive* archive, archive_entry* entry) {
  const int format = archive_format(archive);
  return (format == ARCHIVE_FORMAT_CPIO_SVR4_NOCRC || format == ARCHIVE_FORMAT_CPIO_SVR4_CRC) &&
         archive_entry_size(entry) > 0;
}

}  // namespace

const char* archive_name(Content content) {
  switch (content) {
    case Content::tar:
      return "tar";
    case Content::cpio:
      return "cpio";
    case Content::zip:
      return "zip";
    default:
      return nullptr;
  }
}

ArchiveReader::ArchiveReader(ByteSource& bytes, Content content, std::string name)
    : bytes_(bytes),
      content_(content),
      name_(std::move(name)),
      buffer_(buffer_bytes),
      archive_(archive_read_new()) {
  DT_CHECK(archive_ != nullptr, "libarchive failed to start");
  if (content == Content::tar) {
    archive_read_support_format_tar(archive_);
    // Reads on to the end of the bytes, for `cat a.tar b.tar` and for checksums at the end of
    // compressed data.
    archive_read_set_options(archive_, "read_concatenated_archives");
  } else if (content == Content::cpio) {
    archive_read_support_format_cpio(archive_);
  } else if (bytes.size()) {
    archive_read_support_format_zip_seekable(archive_);
    archive_read_set_seek_callback(archive_, seek);
  } else {
    archive_read_support_format_zip_streamable(archive_);
  }
  // Opening reads the first bytes. next() reports their errors.
  archive_read_open(archive_, this, nullptr, fill, nullptr);
}

ArchiveReader::~ArchiveReader() {
  archive_read_free(archive_);
}

std::optional<std::string> ArchiveReader::next() {
  for (;;) {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(archive_, &entry);
    if (result == ARCHIVE_EOF) {
      if (content_ == Content::cpio) check_end();
      return std::nullopt;
    }
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN) throw failure();
    if (archive_entry_filetype(entry) != AE_IFREG) continue;
    if (archive_entry_hardlink(entry) != nullptr && !has_content_at_last_link(archive_, entry)) continue;
    const std::string path = path_of(entry);
    if (archive_entry_is_encrypted(entry) != 0)
      throw Error(ErrorKind::input, fmt::format("{}:{} is encrypted, which dt does not read", name_, path),
                  "unpack the archive with its password (7z x FILE) and give the folder");
    return path;
  }
}

void ArchiveReader::check_end() {
  const std::int64_t end = archive_read_header_position(archive_) + trailer_bytes(archive_);
  const std::int64_t begin = position_ - static_cast<std::int64_t>(filled_);
  auto skipped = static_cast<std::size_t>(std::clamp<std::int64_t>(end - begin, 0, position_ - begin));
  while (filled_ > 0) {
    const std::string_view rest = std::string_view(buffer_.data(), filled_).substr(skipped);
    if (rest.find_first_not_of('\0') != rest.npos)
      throw Error(ErrorKind::input, fmt::format("{} has data after the end of its cpio archive", name_),
                  "put each archive in a file of its own");
    filled_ = bytes_.read(buffer_);
    skipped = 0;
  }
}

std::size_t ArchiveReader::read(std::span<char> out) {
  const la_ssize_t count = archive_read_data(archive_, out.data(), out.size());
  if (count < 0) throw failure();
  return static_cast<std::size_t>(count);
}

long ArchiveReader::fill(archive*, void* self, const void** bytes) {
  auto& reader = *static_cast<ArchiveReader*>(self);
  try {
    *bytes = reader.buffer_.data();
    reader.filled_ = reader.bytes_.read(reader.buffer_);
    reader.position_ += static_cast<std::int64_t>(reader.filled_);
    return static_cast<long>(reader.filled_);
  } catch (...) {  // C code is between here and the handler
    reader.thrown_ = std::current_exception();
    return ARCHIVE_FATAL;
  }
}

std::int64_t ArchiveReader::seek(archive*, void* self, std::int64_t offset, int whence) {
  auto& reader = *static_cast<ArchiveReader*>(self);
  try {
    const auto size = static_cast<std::int64_t>(reader.bytes_.size().value());
    const std::int64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? reader.position_ : size;
    const std::int64_t target = std::clamp<std::int64_t>(base + offset, 0, size);
    reader.bytes_.seek(static_cast<std::uint64_t>(target));
    return reader.position_ = target;
  } catch (...) {
    reader.thrown_ = std::current_exception();
    return ARCHIVE_FATAL;
  }
}

Error ArchiveReader::failure() const {
  if (thrown_) std::rethrow_exception(thrown_);
  const char* reason = archive_error_string(archive_);
  return Error(
      ErrorKind::input,
      fmt::format("{} is damaged: {} at byte {}: {}", name_, archive_name(content_),
                  archive_filter_bytes(archive_, 0), reason != nullptr ? reason : "it cannot be read"),
      "download or create the archive again");
}

}  // namespace dt::data
