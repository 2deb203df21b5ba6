#pragma once
// Bounded reading of an HDF5 file's metadata. The files of this folder are dt's own reader for the
// part of HDF5 that dt's formats use. Section names in their comments are from the HDF5 File Format
// Specification Version 3.0.
// Source: https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/io/files.hpp"

namespace dt::hdf5 {

/// "The undefined address": the address of an item that is not stored.
inline constexpr std::uint64_t undefined_address = ~std::uint64_t{0};

using Bytes = std::span<const std::byte>;

/// Reads metadata and bounds its amount. Reading a sound file touches its metadata about once. A
/// file whose structures form circles, or refer many times to the same bytes, exceeds the bound.
/// Time and memory stay linear in the file's size, and below a fixed bound.
/// Thread safety: none.
class MetadataReader {
 public:
  /// `file` must outlive the source.
  explicit MetadataReader(const File& file);
  std::uint64_t file_bytes() const { return file_bytes_; }
  /// Returns bytes of the file.
  /// Errors: input if they lie outside the file or exceed the bound.
  std::vector<std::byte> read(std::uint64_t offset, std::uint64_t count, std::string_view what);
  /// Counts work on `count` bytes against the bound.
  /// Errors: input if the bound is exceeded.
  void charge(std::uint64_t count, std::string_view what);
  /// Returns the error "PATH is damaged: ...".
  Error damaged_error(const std::string& what) const;
  /// Returns the error "PATH: ..." for sound content that dt does not read.
  Error unsupported_error(const std::string& what) const;

 private:
  const File* file_;
  std::uint64_t file_bytes_;
  std::uint64_t budget_;
};

/// Takes little-endian fields from the front of `bytes`, which must outlive the object.
/// Errors: input if a field ends beyond `bytes`.
class FieldReader {
 public:
  FieldReader(const MetadataReader& source, Bytes bytes, std::string_view what)
      : source_(&source), left_(bytes), what_(what) {}
  /// Takes a number of 1 to 8 bytes.
  std::uint64_t number(std::size_t width);
  std::uint8_t u8() { return static_cast<std::uint8_t>(number(1)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() { return number(8); }
  Bytes take(std::uint64_t count);
  void skip(std::uint64_t count) { take(count); }
  Bytes remaining() const { return left_; }
  /// Takes a signature of four characters.
  /// Errors: input if the characters differ.
  void expect(std::string_view signature);
  /// Takes a version of one byte.
  /// Errors: input if it is another version.
  void expect_version(std::uint8_t version);
  Error damaged_error(const std::string& problem) const;

 private:
  const MetadataReader* source_;
  Bytes left_;
  std::string_view what_;
};

/// Returns Bob Jenkins' lookup3 hash (hashlittle, initial value 0). It is the checksum of all
/// metadata in newer formats and the hash of names.
/// Source: http://burtleburtle.net/bob/c/lookup3.c.
std::uint32_t checksum(Bytes bytes);

/// Returns whether the checksum matches. Fuzzing builds accept any checksum, since a fuzzer does
/// not find the right one.
bool is_checksum(std::uint32_t stored, Bytes bytes);

/// Returns `bytes` without the checksum at their end.
/// Errors: input if the checksum differs.
Bytes without_checksum(const MetadataReader& source, Bytes bytes, std::string_view what);

}  // namespace dt::hdf5
