#pragma once
// "III.A.2. Version 2 B-trees": the indexes of groups with many links and of objects with many attributes.

#include <cstdint>
#include <vector>

#include "base/hdf5/source.hpp"

namespace dt::hdf5 {

/// All records of a tree, each of `record_bytes`, in no particular order.
struct BTreeRecords {
  std::size_t record_bytes = 0;
  std::vector<std::byte> bytes;
  std::size_t size() const { return bytes.size() / record_bytes; }
  Bytes operator[](std::size_t index) const {
    return Bytes(bytes).subspan(index * record_bytes, record_bytes);
  }
};

/// Reads the tree at `address`.
/// Errors: input if it is damaged, its records are of another type, or they are shorter than
/// `least_record_bytes`.
BTreeRecords read_btree_v2(MetadataReader& source, std::uint64_t address, std::uint8_t type,
                           std::size_t least_record_bytes);

}  // namespace dt::hdf5
