#pragma once
// Dense storage: the links and attributes that are too many for an object's header. A fractal heap
// holds them, and B-trees of version 2 index them.

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/hdf5/source.hpp"

namespace dt::hdf5 {

/// All records of an index, each of `record_bytes`, in no particular order.
struct BTreeRecords {
  std::size_t record_bytes = 0;
  std::vector<std::byte> bytes;
  std::size_t size() const { return bytes.size() / record_bytes; }
  Bytes operator[](std::size_t index) const {
    return Bytes(bytes).subspan(index * record_bytes, record_bytes);
  }
};

/// Reads the index at `address`.
/// Source: "III.A.2. Version 2 B-trees".
/// Errors: input if it is damaged, its records are of another type, or they are shorter than
/// `least_record_bytes`.
BTreeRecords read_btree_v2(MetadataReader& source, std::uint64_t address, std::uint8_t type,
                           std::size_t least_record_bytes);

/// A heap without filters. Reads each block once, when an object in it is asked for.
/// Source: "III.G. Fractal Heap".
class FractalHeap {
 public:
  /// Reads the heap's header. `source` must outlive the heap.
  /// Errors: input if the header is damaged.
  FractalHeap(MetadataReader& source, std::uint64_t address);
  std::size_t id_bytes() const { return id_bytes_; }
  /// Returns the object that a heap ID names. Returns none for a "huge" object, which lies outside
  /// the heap's blocks and is larger than dt reads. Returns none for a "tiny" object, which lies in
  /// the ID itself and is smaller than any that dt reads.
  std::optional<Bytes> find(Bytes id);

 private:
  struct DirectBlock {
    std::uint64_t address, bytes, heap_offset;  // direct block
  };
  std::uint64_t row_bytes(std::size_t row) const;
  std::uint64_t row_offset(std::size_t row) const;
  std::size_t rows_of(std::uint64_t block_bytes) const;
  DirectBlock find_direct_block(std::uint64_t heap_offset);
  FieldReader block_fields(Bytes block, std::string_view signature, std::uint64_t heap_offset) const;
  const std::vector<std::uint64_t>& children(std::uint64_t address, std::size_t rows,
                                             std::uint64_t heap_offset);
  Bytes direct_block(const DirectBlock& place);

  MetadataReader* source_;
  std::uint64_t address_;
  std::size_t id_bytes_ = 0;
  std::size_t offset_width_ = 0, length_width_ = 0;  // in bytes, within IDs
  bool has_checksums_ = false;                       // direct blocks have them
  std::size_t columns_ = 0;                          // "table width"
  std::uint64_t first_bytes_ = 0;                    // "starting block size"
  std::size_t direct_rows_ = 0;                      // rows whose blocks are direct
  std::size_t most_rows_ = 0;                        // in the root block
  std::uint64_t root_ = undefined_address;
  std::size_t root_rows_ = 0;                                      // 0: the root is a direct block
  std::map<std::uint64_t, std::vector<std::byte>> direct_blocks_;  // by offset in the heap
  /// Addresses of an indirect block's children, by the block's offset in the heap and its number of
  /// rows.
  std::map<std::pair<std::uint64_t, std::size_t>, std::vector<std::uint64_t>> indirect_blocks_;
};

}  // namespace dt::hdf5
