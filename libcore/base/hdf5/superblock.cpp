#include "base/hdf5/superblock.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace dt::hdf5 {

namespace {

constexpr std::string_view what = "superblock";
constexpr std::array<unsigned char, 8> signature = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

struct Superblock {
  std::uint64_t base = 0, end_of_file = 0, root = 0;
  bool is_open_for_writing = false;
};

void expect_sizes(const MetadataReader& source, FieldReader& fields) {
  const std::uint8_t offset_bytes = fields.u8(), length_bytes = fields.u8();
  if (offset_bytes == 8 && length_bytes == 8) return;
  const auto is_size = [](std::uint8_t bytes) {
    return bytes >= 2 && bytes <= 32 && std::has_single_bit(bytes);
  };
  if (!is_size(offset_bytes) || !is_size(length_bytes))
    throw fields.damaged_error(
        fmt::format("has offsets of {} bytes and lengths of {} bytes", offset_bytes, length_bytes));
  throw source.unsupported_error(
      fmt::format("its offsets have {} bytes and its lengths {} bytes; dt reads only 8-byte ones",
                  offset_bytes, length_bytes));
}

bool is_signature(Bytes bytes) {
  return std::ranges::equal(bytes, std::as_bytes(std::span(signature)));
}

/// Returns the size of the user block that a file may have before all else, or 0 if no superblock
/// follows one.
/// Source: "II. Disk Format: Level 0": a superblock lies at 0, at 512, or at 512 doubled
/// repeatedly.
std::uint64_t user_block_bytes(MetadataReader& source) {
  for (std::uint64_t at = 512; at < source.file_bytes() - signature.size() && at < std::uint64_t{1} << 48;
       at *= 2) {
    if (is_signature(source.read(at, signature.size(), what))) return at;
  }
  return 0;
}

/// "Superblock, Versions 0 and 1".
Superblock read_old(MetadataReader& source, std::uint8_t version) {
  const std::vector<std::byte> bytes = source.read(0, version == 0 ? 96 : 100, what);
  FieldReader fields(source, bytes, what);
  fields.skip(signature.size() + 1 + 4);  // signature, version, versions of other structures
  expect_sizes(source, fields);
  fields.skip(1 + 2 + 2 + 4 + (version == 0 ? 0 : 4));  // node sizes of B-trees, flags
  Superblock block;
  block.base = fields.u64();
  fields.skip(8);  // free space
  block.end_of_file = fields.u64();
  fields.skip(8 + 8);  // driver information; name of the root group
  block.root = fields.u64();
  return block;
}

/// "Superblock, Version 2" and "3". The extension is not read. Features that it may enable (shared
/// messages, other drivers) are reported where they matter.
Superblock read_new(MetadataReader& source, std::uint8_t version) {
  constexpr std::uint8_t open_flags = 0x05;
  const std::vector<std::byte> bytes = source.read(0, 48, what);
  FieldReader fields(source, without_checksum(source, bytes, what), what);
  fields.skip(signature.size() + 1);
  expect_sizes(source, fields);
  Superblock block;
  block.is_open_for_writing = version == 3 && (fields.u8() & open_flags) != 0;
  if (version == 2) fields.skip(1);
  block.base = fields.u64();
  fields.skip(8);  // extension
  block.end_of_file = fields.u64();
  block.root = fields.u64();
  return block;
}

}  // namespace

std::uint64_t read_superblock(const File& file, MetadataReader& source) {
  const std::string path = file.path().string();
  const std::uint64_t start_bytes = std::min<std::uint64_t>(source.file_bytes(), signature.size() + 1);
  const std::vector<std::byte> start = source.read(0, start_bytes, what);
  if (start_bytes <= signature.size() || !is_signature(Bytes(start).first(signature.size()))) {
    if (const std::uint64_t bytes = start_bytes > signature.size() ? user_block_bytes(source) : 0; bytes > 0)
      throw source.unsupported_error(
          fmt::format("it has a user block of {} bytes, which dt does not read", bytes));
    throw Error(ErrorKind::input,
                path + " is not an HDF5 file, or its writer ended before the file was complete",
                "an HDF5 file begins with the bytes 89 48 44 46 0D 0A 1A 0A");
  }
  const auto version = std::to_integer<std::uint8_t>(start.back());
  if (version > 3)
    throw source.unsupported_error(
        fmt::format("its superblock has version {}; dt reads versions 0 to 3", version));
  const Superblock block = version < 2 ? read_old(source, version) : read_new(source, version);
  if (block.is_open_for_writing) {
    throw Error(ErrorKind::input, path + " is open for writing",
                "its writer is still running, or ended before the file was complete");
  }
  if (block.base != 0)
    throw source.unsupported_error(
        fmt::format("its base address is {}; dt reads files that begin at 0", block.base));
  if (block.end_of_file > source.file_bytes()) {
    throw Error(ErrorKind::input, path + " is truncated",
                fmt::format("it has {} of its {} bytes", source.file_bytes(), block.end_of_file));
  }
  return block.root;
}

}  // namespace dt::hdf5
