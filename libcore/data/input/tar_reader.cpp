#include "data/input/tar_reader.hpp"

#include <archive.h>
#include <archive_entry.h>

namespace dt::data {

namespace {

constexpr std::size_t buffer_bytes = std::size_t{128} << 10;

std::string path_of(archive_entry* entry) {
  const char* path = archive_entry_pathname_utf8(entry);
  if (path == nullptr) path = archive_entry_pathname(entry);
  return path == nullptr ? "" : path;
}

}  // namespace

TarReader::TarReader(ByteSource& bytes, std::string name)
    : bytes_(bytes), name_(std::move(name)), buffer_(buffer_bytes), archive_(archive_read_new()) {
  DT_CHECK(archive_ != nullptr, "libarchive does not begin");
  archive_read_support_format_tar(archive_);
  // To the end of the bytes: `cat a.tar b.tar`, and checksums at the end of what is compressed.
  archive_read_set_options(archive_, "read_concatenated_archives");
  // Opening reads the first bytes, so what is wrong with them is told by next().
  archive_read_open(archive_, this, nullptr, fill, nullptr);
}

TarReader::~TarReader() {
  archive_read_free(archive_);
}

std::optional<std::string> TarReader::next() {
  for (;;) {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(archive_, &entry);
    if (result == ARCHIVE_EOF) return std::nullopt;
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN) throw failure();
    if (archive_entry_filetype(entry) == AE_IFREG && archive_entry_hardlink(entry) == nullptr)
      return path_of(entry);
  }
}

std::size_t TarReader::read(std::span<char> out) {
  const la_ssize_t count = archive_read_data(archive_, out.data(), out.size());
  if (count < 0) throw failure();
  return static_cast<std::size_t>(count);
}

long TarReader::fill(archive*, void* self, const void** bytes) {
  auto& reader = *static_cast<TarReader*>(self);
  try {
    *bytes = reader.buffer_.data();
    return static_cast<long>(reader.bytes_.read(reader.buffer_));
  } catch (...) {  // C is between here and who catches it
    reader.thrown_ = std::current_exception();
    return ARCHIVE_FATAL;
  }
}

Error TarReader::failure() const {
  if (thrown_) std::rethrow_exception(thrown_);
  const char* reason = archive_error_string(archive_);
  return Error(ErrorKind::input,
               fmt::format("{} is damaged: tar at byte {}: {}", name_, archive_filter_bytes(archive_, 0),
                           reason != nullptr ? reason : "it cannot be read"),
               "fetch it again, or make it again");
}

}  // namespace dt::data
