#include "base/hdf5/superblock.hpp"

#include <algorithm>
#include <array>

namespace dt::hdf5 {

namespace {

constexpr std::string_view what = "superblock";
constexpr std::array<unsigned char, 8> signature = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

struct Superblock {
  std::uint64_t base = 0, end_of_file = 0, root = 0;
  bool is_open_for_writing = false;
};

void expect_sizes(Fields& fields) {
  const std::uint8_t offset_bytes = fields.u8(), length_bytes = fields.u8();
  if (offset_bytes != 8 || length_bytes != 8) {
    throw fields.damaged(fmt::format("has offsets of {} and lengths of {} bytes, where 8 are expected",
                                     offset_bytes, length_bytes));
  }
}

/// "Superblock, Versions 0 and 1".
Superblock read_old(Source& source, std::uint8_t version) {
  const std::vector<std::byte> bytes = source.read(0, version == 0 ? 96 : 100, what);
  Fields fields(source, bytes, what);
  fields.skip(signature.size() + 1 + 4);  // other versions
  expect_sizes(fields);
  fields.skip(1 + 2 + 2 + 4 + (version == 0 ? 0 : 4));  // sizes of B-trees' nodes, flags
  Superblock block;
  block.base = fields.u64();
  fields.skip(8);  // free space
  block.end_of_file = fields.u64();
  fields.skip(8 + 8);  // driver, name of the root group
  block.root = fields.u64();
  return block;
}

/// "Superblock, Version 2" and "3". The extension is not read: what it may change (shared messages, other
/// drivers) is told where it matters.
Superblock read_new(Source& source, std::uint8_t version) {
  constexpr std::uint8_t open_flags = 0x05;
  const std::vector<std::byte> bytes = source.read(0, 48, what);
  Fields fields(source, without_checksum(source, bytes, what), what);
  fields.skip(signature.size() + 1);
  expect_sizes(fields);
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

std::uint64_t read_superblock(const File& file, Source& source) {
  const std::string path = file.path().string();
  const std::uint64_t start_bytes = std::min<std::uint64_t>(source.file_bytes(), signature.size() + 1);
  const std::vector<std::byte> start = source.read(0, start_bytes, what);
  if (start_bytes <= signature.size() ||
      !std::ranges::equal(Bytes(start).first(signature.size()), std::as_bytes(std::span(signature)))) {
    throw Error(ErrorKind::input, path + " is no HDF5 file, or its writer died before it was complete",
                "an HDF5 file begins with the bytes 89 48 44 46 0D 0A 1A 0A");
  }
  const auto version = std::to_integer<std::uint8_t>(start.back());
  if (version > 3) throw source.damaged(fmt::format("its superblock is of version {}, not 0 to 3", version));
  const Superblock block = version < 2 ? read_old(source, version) : read_new(source, version);
  if (block.is_open_for_writing) {
    throw Error(ErrorKind::input, path + " is open for writing",
                "its writer is still at work, or died before the file was complete");
  }
  if (block.base != 0) throw source.damaged(fmt::format("its base address is {}, not 0", block.base));
  if (block.end_of_file > source.file_bytes()) {
    throw Error(ErrorKind::input, path + " is truncated",
                fmt::format("it has {} of its {} bytes", source.file_bytes(), block.end_of_file));
  }
  return block.root;
}

}  // namespace dt::hdf5
