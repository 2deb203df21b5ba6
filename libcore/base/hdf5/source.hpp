#pragma once
// Bounded reading of an HDF5 file's metadata. The files of this folder are dt's own reader of the part of
// HDF5 that dt's formats use. Section names in their comments are those of the HDF5 File Format Specification
// Version 3.0 (https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html).

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"

namespace dt::hdf5 {

/// "The undefined address": of what is not stored.
inline constexpr std::uint64_t undefined_address = ~std::uint64_t{0};

using Bytes = std::span<const std::byte>;

/// Reads metadata, and bounds how much of it. A sound file's metadata is read once over; a file whose
/// structures refer to each other in circles, or many times to the same bytes, exceeds the bound, so that
/// time and memory stay linear in the file's size, and below a fixed bound. Not safe from several threads.
class Source {
 public:
  /// `file` outlives it.
  explicit Source(const File& file);
  std::uint64_t file_bytes() const { return file_bytes_; }
  /// Returns bytes of the file. Errors: input, where they lie outside the file or exceed the bound.
  std::vector<std::byte> read(std::uint64_t offset, std::uint64_t count, std::string_view what);
  /// Counts work on `count` bytes against the bound. Errors: input, where that exceeds it.
  void charge(std::uint64_t count, std::string_view what);
  /// "PATH is damaged: ...".
  Error damaged(const std::string& what) const;
  /// "PATH: ...", of what is sound, but not read by dt.
  Error unread(const std::string& what) const;

 private:
  const File* file_;
  std::uint64_t file_bytes_;
  std::uint64_t budget_;
};

/// Takes little-endian fields from the front of `bytes`, which outlive it. Errors: input, where a field lies
/// outside.
class Fields {
 public:
  Fields(const Source& source, Bytes bytes, std::string_view what)
      : source_(&source), left_(bytes), what_(what) {}
  /// A number of 1 to 8 bytes.
  std::uint64_t number(std::size_t width);
  std::uint8_t u8() { return static_cast<std::uint8_t>(number(1)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() { return number(8); }
  Bytes take(std::uint64_t count);
  void skip(std::uint64_t count) { take(count); }
  Bytes left() const { return left_; }
  /// Takes a signature of four characters. Errors: input, where another stands there.
  void expect(std::string_view signature);
  /// Takes a version of one byte. Errors: input, where it is another.
  void expect_version(std::uint8_t version);
  Error damaged(const std::string& problem) const;

 private:
  const Source* source_;
  Bytes left_;
  std::string_view what_;
};

/// Bob Jenkins' lookup3 (hashlittle, initial value 0), the checksum of all metadata of newer formats and the
/// hash of names. Source: http://burtleburtle.net/bob/c/lookup3.c.
std::uint32_t checksum(Bytes bytes);

/// Returns whether the checksum fits. Builds for fuzzing take any: a fuzzer does not find the right one.
bool is_checksum(std::uint32_t stored, Bytes bytes);

/// Returns `bytes` without the checksum that ends them. Errors: input, where it differs.
Bytes without_checksum(const Source& source, Bytes bytes, std::string_view what);

}  // namespace dt::hdf5
